"""What an agent must know after a context reset, from a bounded number of index entries."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from varvite.experiment import ideas, ledger, loop_state, trend
from varvite.experiment.ideas import Idea
from varvite.experiment.ledger import SegmentState, SessionState
from varvite.experiment.statistics import (
    METRIC_MAX,
    VALUES_MIN,
    Evidence,
    evidence,
    evidence_of_sums,
)
from varvite.experiment.trend import PLATEAU_RUNS, TRIED, Trend
from varvite.session.kind import Read

_TOLD = ("command", "scope", "max_iterations", "checks")
_POINTERS = ("baseline", "baseline_valid", "best")
_IDEA = (
    *("id", "ordinal", "status", "metric", "description"),
    *("change", "assumption", "overturns"),
)
_INTERNAL = frozenset({"seq", "code", "change", "assumption", "overturns"})
"""Of a run, what is compared and not told."""


def brief(read: Read, left: int | None) -> dict[str, Any]:
    """Where the loop stands, its last runs, and what of them was tried before or overturned.

    left: runs until the segment's limit. Reads three entries a run told, 50 runs at most.
    """
    state = ledger.session_state(read)
    segment = ledger.segment_state(read, state.segment)
    settings, now = loop_state.settings(read), trend.of_segment(read, state.segment)
    recent = loop_state.recent(read, state.ordinal, state.runs)
    tried = [_idea(run) for run in recent]
    return {
        "status": state.status,
        **asdict(state.definition),
        **{name: settings.get(name) for name in _TOLD},
        "segment": state.segment,
        "runs": state.runs,
        "kept": state.kept,
        "statuses": state.statuses,
        "left": left,
        **{name: _entry(getattr(segment, name, None)) for name in _POINTERS},
        "since_best": now.since_best,
        "plateau": now.since_best >= PLATEAU_RUNS,
        "evidence": _evidence(read, state, segment, now, recent),
        "dead_ends": [ideas.row(one) for one in ideas.dead_ends(tried)],
        "overturned": [ideas.overturned_row(one) for one in ideas.overturned(tried)],
        "to_log": _to_log(read),
        "recent": [_without(run, _INTERNAL) for run in recent],
    }


def _idea(run: dict[str, Any]) -> Idea:
    told: dict[str, Any] = {name: run.get(name) for name in _IDEA}
    return Idea(**told)


def _evidence(
    read: Read,
    state: SessionState,
    segment: SegmentState | None,
    now: Trend,
    recent: Sequence[dict[str, Any]],
) -> dict[str, Any] | None:
    """The view `evidence` for the current segment, as far as sums and the last runs tell it."""
    noise = now.noise
    row = {
        "tries": now.tries,
        "noise_width": noise and noise.width,
        "noise_degrees": noise and noise.degrees,
        "noise_from": now.noise_from,
    }
    if segment is None or segment.best is None:
        return None
    if noise is None and segment.runs > len(recent):
        return row | {"p": None, "likely_real": False, "ask": "select * from evidence"}
    found = _judged(read, segment, now, recent, state.definition.direction)
    return row | {"p": found.p, "likely_real": found.likely_real, "ask": None}


def _judged(
    read: Read,
    segment: SegmentState,
    now: Trend,
    recent: Sequence[dict[str, Any]],
    direction: str,
) -> Evidence:
    best = segment.best.metric if segment.best else None
    if now.noise is None:
        return evidence(_tries(segment, recent), direction, best=best)
    measured, first = trend.baseline(read, now)
    if first is None or best is None or now.tries < VALUES_MIN:
        return Evidence(now.tries, {}, None, likely_real=False)
    later = now.later / (now.tries - 1)
    return evidence_of_sums(
        now.tries,
        direction,
        first=first,
        best=best,
        later=later,
        noise=now.noise,
        measured=measured,
    )


def _tries(segment: SegmentState, recent: Sequence[dict[str, Any]]) -> list[float]:
    """The tries of a segment whose runs are all recent, and of which no code came twice."""
    tried: list[float] = []
    for run in recent:
        metric, status = run["metric"], run["status"]
        if run["segment"] != segment.segment or metric is None or abs(metric) >= METRIC_MAX:
            continue
        if status == "keep" or (tried and status in TRIED):
            tried.append(metric)
    return tried


def _to_log(read: Read) -> dict[str, Any] | None:
    measured = loop_state.measured(read)
    if measured is None:
        return None
    told = {name: measured[name] for name in ("metric", "status", "tail")}
    return told | {"changed_before": trend.changed_before(read, measured.get("change"))}


def _entry(run: Any) -> dict[str, Any] | None:
    names = ("id", "ordinal", "status", "metric")
    return {name: getattr(run, name) for name in names} if run else None


def _without(run: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in names}
