"""What the index keeps of a segment beyond its pointers: since when nothing is better, how
noisy it is, and the sums from which its best run is judged.

One entry a segment, one a code that was measured, one a change; a run touches three.
The views `measured_runs`, `noise_floors` and `plateaus` say the same of the records.
"""

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import orjson

from varvite.experiment import ledger
from varvite.experiment.states import States
from varvite.experiment.statistics import METRIC_MAX, Noise, squares
from varvite.session.kind import Read

TREND, CODE, CHANGE = "experiment_trend", "experiment_code", "experiment_change"
PLATEAU_RUNS = 10
"""So many runs without a better one are a plateau."""
MEASURED = frozenset({"keep", "discard", "confirm", "pending"})
TRIED = frozenset({"keep", "discard"})


@dataclass(slots=True)
class Trend:
    """A segment so far. runs: that count; runs_at_best of them when the best run came.

    first, later: the first try's metric and the sum of the others'. Squares are about the
    mean of each group.
    """

    runs: int = 0
    runs_at_best: int = 0
    best: float | None = None
    tries: int = 0
    first: float | None = None
    first_code: str | None = None
    later: float = 0.0
    same_squares: float = 0.0
    same_degrees: int = 0
    replicate_squares: float = 0.0
    replicate_degrees: int = 0

    @property
    def since_best(self) -> int:
        return self.runs - self.runs_at_best

    @property
    def noise_from(self) -> str | None:
        if self.same_degrees:
            return "runs"
        return "replicates" if self.replicate_degrees else None

    @property
    def noise(self) -> Noise | None:
        """Of runs that measured the same code; where there are none, of replicates."""
        if self.same_degrees:
            return Noise(math.sqrt(self.same_squares / self.same_degrees), self.same_degrees)
        if self.replicate_degrees:
            width = math.sqrt(self.replicate_squares / self.replicate_degrees)
            return Noise(width, self.replicate_degrees)
        return None


def of_segment(read: Read, segment: int) -> Trend:
    value = read(TREND, str(segment))
    return _trend(value) if value else Trend()


def baseline(read: Read, trend: Trend) -> tuple[int, float | None]:
    """How often the code of a segment's first try was measured, and the mean of that."""
    value = read(CODE, trend.first_code) if trend.first_code else None
    return orjson.loads(value) if value else (1, trend.first)


def changed_before(read: Read, change: str | None) -> dict[str, Any] | None:
    """The last run that changed the same: its id, ordinal, segment, status and metric."""
    value = read(CHANGE, _digest(change)) if change else None
    found: dict[str, Any] | None = orjson.loads(value) if value else None
    return found


def text_of(value: Any) -> str | None:
    """A JSON value as SQL takes it out as text."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def _fold_run(record: dict[str, Any], states: States) -> None:
    payload, place = record.get("payload"), str(record["segment"])
    told: dict[str, Any] = payload if isinstance(payload, dict) else {}
    trend = states.get(TREND, place, _trend) or Trend()
    trend.runs += 1
    metric = record.get("metric")
    if metric is not None and math.isfinite(metric):
        _count(trend, record, states)
        if abs(metric) < METRIC_MAX and record.get("status") in MEASURED:
            _measure(trend, record, told, states)
    states.put(TREND, place, trend)
    if change := text_of(told.get("change")):
        states.put(CHANGE, _digest(change), _brief(record))


def _count(trend: Trend, record: dict[str, Any], states: States) -> None:
    """Take in a finite metric: a keep's may be the best."""
    metric = record["metric"]
    if record.get("status") != "keep":
        return
    direction = ledger.direction(states, record["segment"])
    if trend.best is None or ledger.better(direction, metric, trend.best):
        trend.best, trend.runs_at_best = metric, trend.runs


def _measure(trend: Trend, record: dict[str, Any], told: dict[str, Any], states: States) -> None:
    metric, status, code = record["metric"], record["status"], _code(record, told)
    again = code is not None and _measure_code(trend, code, metric, states)
    if trend.first is None:
        if status == "keep":
            trend.tries, trend.first, trend.first_code = 1, metric, code
    elif not again and status in TRIED:
        trend.tries += 1
        trend.later += metric
    _take_replicates(trend, told.get("replicates"))


def _take_replicates(trend: Trend, found: Any) -> None:
    if isinstance(found, list) and len(found) > 1 and all(map(_has_square, found)):
        trend.replicate_squares += squares(found)
        trend.replicate_degrees += len(found) - 1


def _measure_code(trend: Trend, code: str, metric: float, states: States) -> bool:
    """Take a measurement of a code into its group, by Welford's update; whether it had one."""
    count, mean = states.get(CODE, code, orjson.loads) or (0, 0.0)
    apart = metric - mean
    mean += apart / (count + 1)
    if count:
        trend.same_squares += apart * (metric - mean)
        trend.same_degrees += 1
    states.put(CODE, code, (count + 1, mean))
    return bool(count)


def _code(record: dict[str, Any], told: dict[str, Any]) -> str | None:
    code = text_of(told.get("code"))
    return None if code is None else f"{record['segment']}:{_digest(code)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _has_square(value: Any) -> bool:
    """Whether it is a number below METRIC_MAX."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < METRIC_MAX


def _brief(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record.get(name) for name in ("id", "ordinal", "segment", "status", "metric")}


def _trend(value: bytes) -> Trend:
    return Trend(**orjson.loads(value))


FOLDS = {("records", "run"): _fold_run}
