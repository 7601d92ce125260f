"""What pi-autoresearch tells an agent whose context was compacted."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from varvite.experiment.pi_state import PiRun, PiState

RUNS_MAX = 50
_STATUSES = ("keep", "discard", "crash", "checks_failed")
_STATUS_CHARS = len("checks_failed")
_WORDS = {"hypothesis": "hypothesis", "next_action_hint": "next", "rollback_reason": "rollback"}
_EXPONENT_FROM = 1e21


@dataclass(frozen=True, slots=True)
class Digest:
    """best: null where it is the baseline run, by its number. runs: the last RUNS_MAX of all."""

    goal: str
    counts: str
    baseline: str | None
    best: str | None
    runs: list[str]


def digest(state: PiState) -> Digest:
    """Counts, baseline and best are the segment's; a run's change is from its own baseline."""
    baseline, best = state.baseline(), state.best()
    moved = best if best and baseline and best.run != baseline.run else None
    return Digest(
        goal=state.name or "",
        counts=_counts(state.current()),
        baseline=_pointer(state, baseline) if baseline else None,
        best=_pointer(state, moved) if moved else None,
        runs=[_line(state, run) for run in state.runs[-RUNS_MAX:]],
    )


def number(value: float) -> str:
    """A number as pi shows it: a whole one as it is, others with two digits."""
    if not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == int(value) and abs(value) < _EXPONENT_FROM:
        return str(int(value))
    return fixed(value, 2)


def fixed(value: float, digits: int) -> str:
    """JavaScript's toFixed: the exact binary value, ties away from zero."""
    step = Decimal(1).scaleb(-digits)
    return str(Decimal(value).quantize(step, rounding=ROUND_HALF_UP))


def change(value: float, base: float | None) -> str:
    """The change from a base in percent; empty where there is none to tell."""
    if not base or value == base or not math.isfinite(base) or not math.isfinite(value):
        return ""
    percent = (value - base) / base * 100
    return f" ({'+' if percent > 0 else ''}{fixed(percent, 1)}%)"


def _counts(runs: list[PiRun]) -> str:
    if not runs:
        return "0"
    counts = Counter(run.status for run in runs)
    told = [f"{counts[one]} {one}" for one in _STATUSES if counts[one] or one == "keep"]
    return f"{len(runs)} ({' · '.join(told)})"


def _pointer(state: PiState, run: PiRun) -> str:
    base = state.baseline()
    delta = change(run.metric, base.metric if base else None)
    return f"(#{number(run.run)}): {number(run.metric)}{state.metric_unit}{delta}"


def _line(state: PiState, run: PiRun) -> str:
    base = state.baseline(run.segment)
    delta = change(run.metric, base.metric if base else None)
    head = f"#{number(run.run)} {run.status:<{_STATUS_CHARS}} {number(run.metric)}{delta}"
    return " | ".join([head, f"desc: {run.description}", *_insights(run)])


def _insights(run: PiRun) -> Iterator[str]:
    for name, word in _WORDS.items():
        text = (run.asi or {}).get(name)
        if isinstance(text, str) and text.strip():
            yield f"{word}: {text.strip()}"
