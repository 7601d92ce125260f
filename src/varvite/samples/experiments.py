"""Experiment logs of any length, made from a seed, in the lines of pi-autoresearch.

As real ones do, a log changes its metric with each segment; most runs are kept, a few
crash; results are noisy, tie, pass through zero and below; and a writer adds keys of
its own or gives a run number twice.

The same seed gives the same bytes, and a longer log begins with a shorter one.
"""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import orjson

from varvite.samples import words

SEGMENT_RUNS_MEAN = 25
STATUS_WEIGHTS = {"keep": 65.3, "discard": 27.5, "crash": 5.1, "checks_failed": 2.1}
HIGHER_SHARE = 0.3
SIGNED_SHARE = 0.15
"""Of the segments, those whose metric lies about zero."""

TIE_SHARE = 0.04
ZERO_SHARE = 0.01
"""Of the runs that ended; a crash always says 0."""

NOISE = 0.02
"""Standard deviation of a result, relative to the segment's scale."""

GAIN_MEAN = 0.01
"""Of a kept run, relative to the segment's scale."""

EXTRAS_SHARE = 0.04
NUMBER_TWICE_SHARE = 0.01
STARTED_MS = 1_767_225_600_000

_METRICS = (
    ("total_ms", "ms"),
    ("val_loss", ""),
    ("ops_sec", ""),
    ("binary_kb", "kb"),
    ("quality_gap", "gaps"),
    ("heap_mb", "mb"),
)


class _Metric(NamedTuple):
    name: str
    unit: str
    higher: bool
    signed: bool
    scale: float


def log(seed: int, runs: int) -> Iterator[bytes]:
    """The lines of a log with `runs` runs, each with its newline."""
    made = _Log(seed)
    for number in range(1, runs + 1):
        if number == 1 or made.segment_ends():
            yield _line(made.config())
        yield _line(made.run(number))


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


class _Log:
    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)  # noqa: S311  (samples, not secrets)
        self._segment = -1
        self._clock_ms = STARTED_MS
        self._metric = _Metric("", "", higher=False, signed=False, scale=1)
        self._level = self._last = 0.0

    def segment_ends(self) -> bool:
        return self._rng.random() < 1 / SEGMENT_RUNS_MEAN

    def config(self) -> dict[str, Any]:
        rng = self._rng
        self._segment += 1
        name, unit = rng.choice(_METRICS)
        higher, signed = rng.random() < HIGHER_SHARE, rng.random() < SIGNED_SHARE
        self._metric = _Metric(name, unit, higher, signed, round(rng.lognormvariate(5, 2), 3) + 1)
        self._level = self._last = 0 if signed else self._metric.scale
        return {
            "type": "config",
            "name": words.title(rng),
            "metricName": name,
            "metricUnit": unit,
            "bestDirection": "higher" if higher else "lower",
        }

    def run(self, number: int) -> dict[str, Any]:
        rng = self._rng
        status = rng.choices(list(STATUS_WEIGHTS), list(STATUS_WEIGHTS.values()))[0]
        self._clock_ms += rng.randrange(5_000, 600_000)
        run = {
            "run": max(1, number - (rng.random() < NUMBER_TWICE_SHARE)),
            "commit": f"{rng.getrandbits(28):07x}",
            "metric": 0 if status == "crash" else self._measure(status),
            "metrics": {"wall_s": round(rng.lognormvariate(3, 1), 2), "tests": rng.randrange(99)},
            "status": status,
            "description": words.sentence(rng),
            "timestamp": self._clock_ms,
            "segment": self._segment,
            "confidence": None,
            "asi": {"hypothesis": words.sentence(rng)},
        }
        return run | self._extras()

    def _measure(self, status: str) -> float:
        rng, scale = self._rng, self._metric.scale
        if rng.random() < TIE_SHARE:
            return self._last
        if rng.random() < ZERO_SHARE:
            return 0
        way = 1 if self._metric.higher else -1
        if status == "keep":
            self._level = self._bounded(self._level + way * rng.expovariate(1 / GAIN_MEAN) * scale)
        self._last = round(self._bounded(self._level + rng.gauss(0, NOISE) * scale), 3)
        return self._last

    def _bounded(self, value: float) -> float:
        """A metric that is not signed keeps a tenth of its scale."""
        return value if self._metric.signed else max(value, self._metric.scale / 10)

    def _extras(self) -> dict[str, Any]:
        if self._rng.random() >= EXTRAS_SHARE:
            return {}
        return {"iterationTokens": self._rng.randrange(500, 9000), "runId": f"r{self._segment}"}
