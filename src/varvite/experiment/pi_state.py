"""A pi-autoresearch log as pi itself sees it: a fold over its records, in pi's words.

For what must say and decide as pi does. The ledger is what this project goes by.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from varvite.experiment.confidence import confidence_pi
from varvite.experiment.ledger import better

_UNITS = {"µs": "µs", "_ms": "ms", "_s": "s", "_sec": "s", "_kb": "kb", "_mb": "mb"}
_DIRECTIONS = {"lower": "minimize", "higher": "maximize"}
_NO_NAME = "Autoresearch"


@dataclass(frozen=True, slots=True)
class PiRun:
    """A run. segment: counted from 0. timestamp: milliseconds, 0 where there is none."""

    run: float
    metric: float
    status: str
    segment: int
    commit: str = ""
    description: str = ""
    metrics: dict[str, float] = field(default_factory=dict)
    confidence: float | None = None
    timestamp: float = 0
    asi: dict[str, Any] | None = None


class PiState:
    """What pi knows after so many lines. A config opens a segment once there is a run."""

    def __init__(self, records: Iterable[dict[str, Any]] = ()) -> None:
        self.name: str | None = None
        self.metric_name, self.metric_unit, self.direction = "metric", "", "lower"
        self.segment = 0
        self.configured = False
        self.runs: list[PiRun] = []
        self.secondary: dict[str, str] = {}
        """Name to unit, in the order in which the segment saw them."""
        self._first_name: str | None = None
        for record in records:
            self.add(record)

    @property
    def display_name(self) -> str:
        return self._first_name or _NO_NAME

    def add(self, record: dict[str, Any]) -> None:
        """Take a record of an imported log, in pi's reading of it."""
        if record["type"] == "config":
            self.configure(
                record["name"],
                record["metric_name"],
                record["metric_unit"],
                "higher" if record["direction"] == "maximize" else "lower",
            )
        elif record["type"] == "run":
            self.log(self._run(record))

    def configure(
        self, name: str | None, metric_name: str | None, metric_unit: str | None, direction: str
    ) -> None:
        """What is None stays as it was."""
        if self.runs:
            self.segment += 1
            self.secondary = {}
        self.name = self.name if name is None else name
        self.metric_name = self.metric_name if metric_name is None else metric_name
        self.metric_unit = self.metric_unit if metric_unit is None else metric_unit
        self.direction, self.configured = direction, True
        self._first_name = self._first_name or name

    def log(self, run: PiRun) -> None:
        for name in run.metrics:
            self.secondary.setdefault(name, unit(name))
        self.runs.append(run)

    def current(self) -> list[PiRun]:
        """The runs of the segment."""
        return self.of(self.segment)

    def of(self, segment: int) -> list[PiRun]:
        return [run for run in self.runs if run.segment == segment]

    def baseline(self, segment: int | None = None) -> PiRun | None:
        """The first run, whatever its status."""
        runs = self.of(self.segment if segment is None else segment)
        return runs[0] if runs else None

    def best(self) -> PiRun | None:
        """The best keep with a finite metric; the earliest of equals."""
        return best(self.current(), self.direction)

    def confidence(self, *more: PiRun) -> float | None:
        """Of the segment's runs, and of `more` after them."""
        runs = [(run.metric, run.status) for run in (*self.current(), *more)]
        return confidence_pi(runs, _DIRECTIONS[self.direction])

    def _run(self, record: dict[str, Any]) -> PiRun:
        entry, payload = json.loads(record["raw"]), record.get("payload") or {}
        asi, at = payload.get("asi"), entry.get("timestamp")
        return PiRun(
            run=record["run_logged"],
            metric=record["metric"],
            status=record["status"],
            segment=self.segment,
            commit=record["commit"] or "",
            description=record["description"] or "",
            metrics=dict(_own(record["metrics"] or {})),
            confidence=record["confidence"],
            timestamp=at if isinstance(at, int | float) and not isinstance(at, bool) else 0,
            asi=asi if isinstance(asi, dict) else None,
        )


def best(runs: Iterable[PiRun], direction: str) -> PiRun | None:
    """The best keep with a finite metric; the earliest of equals."""
    found: PiRun | None = None
    for run in runs:
        wins = run.status == "keep" and math.isfinite(run.metric)
        if wins and (found is None or better(_DIRECTIONS[direction], run.metric, found.metric)):
            found = run
    return found


def best_shown(runs: Iterable[PiRun], direction: str) -> PiRun | None:
    """The best run of pi's widget: a keep above zero, and the latest of equals."""
    above = [run for run in runs if run.status == "keep" and run.metric > 0]
    found: PiRun | None = None
    for run in above:
        if found is None or not better(_DIRECTIONS[direction], found.metric, run.metric):
            found = run
    return found


def unit(name: str) -> str:
    """The unit that the end of a metric's name tells."""
    return next((told for end, told in _UNITS.items() if name.endswith(end)), "")


def _own(metrics: dict[str, float]) -> Iterator[tuple[str, float]]:
    """What JavaScript holds of them: a key that names the prototype is none."""
    return ((name, value) for name, value in metrics.items() if name != "__proto__")
