"""What the index keeps of a segment beyond its pointers: since when nothing is better, how
noisy it is, and the sums from which its best run is judged.

One entry a segment, one a code that was measured, one a change; a run touches three.
The views `measured_runs`, `noise_floors` and `plateaus` say the same of the records.
"""

import hashlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from varvite.experiment import ledger
from varvite.experiment.statistics import METRIC_MAX, Noise, squares
from varvite.session.kind import Entry, Read

TREND, CODE, CHANGE = "experiment_trend", "experiment_code", "experiment_change"
PLATEAU_RUNS = 10
"""So many runs without a better one are a plateau."""
MEASURED = frozenset({"keep", "discard", "confirm", "pending"})
TRIED = frozenset({"keep", "discard"})


@dataclass(frozen=True, slots=True)
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
    return Trend(**orjson.loads(value)) if value else Trend()


def baseline(read: Read, trend: Trend) -> tuple[int, float | None]:
    """How often the code of a segment's first try was measured, and the mean of that."""
    value = read(CODE, trend.first_code) if trend.first_code else None
    return orjson.loads(value) if value else (1, trend.first)


def changed_before(read: Read, change: str | None) -> dict[str, Any] | None:
    """The last run that changed the same: its id, ordinal, segment, status and metric."""
    value = read(CHANGE, _digest(change)) if change else None
    found: dict[str, Any] | None = orjson.loads(value) if value else None
    return found


def fold(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    """The entries of one run; none for other records."""
    if (record["stream"], record.get("type")) != ("records", "run"):
        return
    payload = record.get("payload")
    told: dict[str, Any] = payload if isinstance(payload, dict) else {}
    trend = _counted(of_segment(read, record["segment"]), record, read)
    metric = record.get("metric")
    if metric is not None and abs(metric) < METRIC_MAX and record.get("status") in MEASURED:
        code, before = _code(record, told), None
        if code:
            before, entry, trend = _measured_again(trend, code, metric, read)
            yield entry
        trend = _with_replicates(_tried(trend, record, code, again=before is not None), told)
    yield TREND, str(record["segment"]), orjson.dumps(asdict(trend))
    if change := text_of(told.get("change")):
        yield CHANGE, _digest(change), orjson.dumps(_brief(record))


def text_of(value: Any) -> str | None:
    """A JSON value as SQL takes it out as text."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value).decode()


def _counted(trend: Trend, record: dict[str, Any], read: Read) -> Trend:
    trend = replace(trend, runs=trend.runs + 1)
    metric = record.get("metric")
    if record.get("status") != "keep" or metric is None or not math.isfinite(metric):
        return trend
    segment = ledger.segment_state(read, record["segment"])
    definition = segment.definition if segment else ledger.session_state(read).definition
    if trend.best is not None and not ledger.better(definition.direction, metric, trend.best):
        return trend
    return replace(trend, best=metric, runs_at_best=trend.runs)


def _tried(trend: Trend, record: dict[str, Any], code: str | None, *, again: bool) -> Trend:
    metric, status = record["metric"], record["status"]
    if trend.first is None and status == "keep":
        return replace(trend, tries=1, first=metric, first_code=code)
    if trend.first is None or again or status not in TRIED:
        return trend
    return replace(trend, tries=trend.tries + 1, later=trend.later + metric)


def _with_replicates(trend: Trend, told: dict[str, Any]) -> Trend:
    found = told.get("replicates")
    if not isinstance(found, list) or len(found) < 2 or not all(map(_is_number, found)):  # noqa: PLR2004  (one value has no spread)
        return trend
    return replace(
        trend,
        replicate_squares=trend.replicate_squares + squares(found),
        replicate_degrees=trend.replicate_degrees + len(found) - 1,
    )


def _measured_again(
    trend: Trend, code: str, metric: float, read: Read
) -> tuple[bytes | None, Entry, Trend]:
    """Take a measurement of a code into its group, by Welford's update."""
    before = read(CODE, code)
    count, mean = orjson.loads(before) if before else (0, 0.0)
    apart = metric - mean
    mean += apart / (count + 1)
    if count:
        trend = replace(
            trend,
            same_squares=trend.same_squares + apart * (metric - mean),
            same_degrees=trend.same_degrees + 1,
        )
    return before, (CODE, code, orjson.dumps((count + 1, mean))), trend


def _code(record: dict[str, Any], told: dict[str, Any]) -> str | None:
    code = text_of(told.get("code"))
    return None if code is None else f"{record['segment']}:{_digest(code)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _brief(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record.get(name) for name in ("id", "ordinal", "segment", "status", "metric")}
