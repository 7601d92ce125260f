"""What an experiment session knows of its runs without reading them: a fold over its records.

One entry for the session, one per segment number, one per kept run, one per
foreign log: each record touches at most four, whatever the history. Best,
baselines, kept runs and counts are functions of the committed records alone.

A foreign log that was rewritten is read again under a new generation. The runs
of its earlier generations stay in the history and stop counting: counts and kept
runs begin anew, in a new segment. Numbers of runs and segments are never used twice.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from varvite.experiment.states import States
from varvite.experiment.status import TRANSITIONS
from varvite.session.kind import Read

SESSION, SEGMENT, KEPT, LOG = "experiment", "experiment_segment", "experiment_kept", "foreign_log"
KEPT_AT, PATCHED = "experiment_kept_at", "experiment_patched"
LOG_READ, STATUS_CHANGED = "log_read", "status_changed"
POINTER_SET, RUN_KEPT, UPDATED = "pointer_set", "run_kept", "session_updated"
KEEP_PUT = "keep_put"
"""By Fusion's rules: a keep, which is in the ledger by itself, was put there too."""
_ONLY = "session"


@dataclass(frozen=True, slots=True)
class Definition:
    """What is measured; a config record sets it."""

    name: str | None = None
    metric_name: str = "metric"
    metric_unit: str = ""
    direction: str = "minimize"


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run as the ledger points to it. metric: null when missing or not finite."""

    seq: int
    id: str
    segment: int
    ordinal: int
    status: str
    metric: float | None
    run_logged: float | None = None

    @property
    def wins(self) -> bool:
        """Whether it may become best or `baseline_valid`: a keep with a finite metric."""
        return self.status == "keep" and self.metric is not None


@dataclass(slots=True)
class SegmentState:
    """baseline: the first run, whatever its status. baseline_valid: the first that wins."""

    segment: int
    definition: Definition
    runs: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    baseline: RunEntry | None = None
    baseline_valid: RunEntry | None = None
    best: RunEntry | None = None


@dataclass(slots=True)
class SessionState:
    """runs, statuses and kept count what counts; ordinal is the last number given to a run.

    declared: the definition that the session's own config records gave, from which a
    foreign log that is read anew starts. pins: run ids that someone set as baseline or
    best of the current segment.
    """

    status: str = "active"
    finalized_at: str | None = None
    segment: int = 1
    ordinal: int = 0
    runs: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    kept: int = 0
    definition: Definition = field(default_factory=Definition)
    declared: Definition = field(default_factory=Definition)
    pins: dict[str, str] = field(default_factory=dict)

    def counts(self, run: RunEntry) -> bool:
        """Whether the run is of the newest generation."""
        return run.ordinal > self.ordinal - self.runs


@dataclass(frozen=True, slots=True)
class LogState:
    """How far a foreign log was read, and the runs of this generation."""

    offset: int
    sha256: str
    lines: int
    generation: int
    runs: int


def session_state(read: Read) -> SessionState:
    value = read(SESSION, _ONLY)
    return SessionState() if value is None else _session_of(value)


def _session_of(value: bytes) -> SessionState:
    stored = orjson.loads(value)
    definition, declared = (Definition(**stored.pop(name)) for name in ("definition", "declared"))
    return SessionState(definition=definition, declared=declared, **stored)


def segment_state(read: Read, segment: int) -> SegmentState | None:
    value = read(SEGMENT, str(segment))
    return None if value is None else _segment_of(value)


def _segment_of(value: bytes) -> SegmentState:
    stored = orjson.loads(value)
    runs: dict[str, Any] = {name: _entry_of(stored.pop(name)) for name in _POINTERS}
    return SegmentState(definition=Definition(**stored.pop("definition")), **runs, **stored)


def kept(read: Read) -> Iterator[RunEntry]:
    """The kept runs that count, in the order of their records. One lookup each."""
    for number in range(1, session_state(read).kept + 1):
        run = _entry_of(_stored(read(KEPT, str(number))))
        if run:
            yield run


def is_kept(read: Read, run: RunEntry) -> bool:
    """Whether a run that counts is in the kept ledger: as a keep, or because it was put there."""
    number = read(KEPT_AT, run.id)
    if run.status == "keep" or number is None:
        return run.status == "keep"
    there = _entry_of(_stored(read(KEPT, number.decode())))
    return int(number) <= session_state(read).kept and there == run


def was_put(read: Read, run: RunEntry) -> bool:
    """Whether someone put the run into the kept ledger, a keep too."""
    return read(KEPT_AT, run.id) is not None


def patched(read: Read, seq: int) -> dict[str, Any]:
    """All that patches say of the record at `seq`, later ones over earlier ones."""
    return _stored(read(PATCHED, str(seq))) or {}


def log_state(read: Read, source: str) -> LogState | None:
    value = read(LOG, source)
    return None if value is None else _log_of(value)


def _log_of(value: bytes) -> LogState:
    return LogState(**orjson.loads(value))


def summary(read: Read) -> dict[str, Any]:
    """What `state.json` says of the session, from two index entries."""
    state = session_state(read)
    current = segment_state(read, state.segment)
    return {
        "status": state.status,
        "finalized_at": state.finalized_at,
        "segment": state.segment,
        "runs": state.runs,
        "kept": state.kept,
        "statuses": state.statuses,
        "definition": state.definition,
        "pins": state.pins,
        **{name: getattr(current, name, None) for name in _POINTERS},
    }


def resolved(fields: dict[str, Any], before: Definition) -> Definition:
    """The definition that a config gives: what it leaves out stays as it was."""
    given = {name: fields[name] for name in _DEFINED if fields.get(name) is not None}
    return replace(before, **given)


def rewound(state: SessionState) -> SessionState:
    """The state in which a foreign log begins a new generation."""
    return replace(
        state,
        segment=state.segment + (1 if state.runs else 0),
        runs=0,
        statuses={},
        kept=0,
        definition=state.declared,
        pins={},
    )


def direction(states: States, segment: int) -> str:
    """Which way a segment's metric is better, while a batch is folded."""
    held = states.get(SEGMENT, str(segment), _segment_of) or _session(states)
    return held.definition.direction


def better(direction: str, challenger: float, holder: float) -> bool:
    return challenger > holder if direction == "maximize" else challenger < holder


def _session(states: States) -> SessionState:
    return states.get(SESSION, _ONLY, _session_of) or SessionState()


def _put(states: States, session: SessionState) -> None:
    states.put(SESSION, _ONLY, session)


def _fold_config(record: dict[str, Any], states: States) -> None:
    session, number = _session(states), record["segment"]
    definition = resolved(record, session.definition)
    if number != session.segment:
        session.pins = {}
    session.segment, session.definition = number, definition
    if not record.get("source"):
        session.declared = definition
    _put(states, session)
    segment = _segment(states, number, definition)
    segment.definition = definition
    states.put(SEGMENT, str(number), segment)


def _segment(states: States, number: int, definition: Definition) -> SegmentState:
    found = states.get(SEGMENT, str(number), _segment_of)
    return found or SegmentState(number, definition)


def _fold_run(record: dict[str, Any], states: States) -> None:
    session = _session(states)
    run = _run(record, session.ordinal + 1)
    segment = _segment(states, run.segment, session.definition)
    _take(segment, run)
    states.put(SEGMENT, str(run.segment), segment)
    session.ordinal = run.ordinal
    session.runs += 1
    _count(session.statuses, run.status)
    if run.status == "keep":
        _keep(states, session, run)
    _put(states, session)


def _keep(states: States, session: SessionState, run: RunEntry) -> None:
    session.kept += 1
    states.put(KEPT, str(session.kept), run)


def _fold_kept(record: dict[str, Any], states: States) -> None:
    try:
        run = RunEntry(**record["payload"]["run"])
    except (TypeError, KeyError):
        return
    session = _session(states)
    _keep(states, session, run)
    states.put(KEPT_AT, str(run.id), str(session.kept), str.encode)
    _put(states, session)


def _fold_put(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    if isinstance(payload, dict) and isinstance(payload.get("run"), str):
        states.put(KEPT_AT, payload["run"], "0", str.encode)


def _fold_pointer(record: dict[str, Any], states: States) -> None:
    session, payload = _session(states), record.get("payload")
    if isinstance(payload, dict) and isinstance(payload.get("run"), str):
        session.pins[str(payload.get("pointer"))] = payload["run"]
        _put(states, session)


def _fold_patch(record: dict[str, Any], states: States) -> None:
    target, patch = record.get("target_seq"), record.get("payload")
    if target and isinstance(patch, dict):
        before = states.get(PATCHED, str(target), orjson.loads) or {}
        states.put(PATCHED, str(target), before | patch)


def _fold_status(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    status = payload.get("to") if isinstance(payload, dict) else None
    if not isinstance(status, str) or status not in TRANSITIONS:
        return
    session = _session(states)
    session.status = status
    if status == "finalized" and session.finalized_at is None:
        session.finalized_at = _said_moment(payload) or record["at"]
    _put(states, session)


def _said_moment(payload: Any) -> str | None:
    """When another store says that the session was finalized."""
    moment = payload.get("finalized_at")
    return moment if isinstance(moment, str) else None


def _fold_log(record: dict[str, Any], states: States) -> None:
    try:
        source = str(record["payload"]["source"])
        reached = LogState(**record["payload"]["reached"])
        before = states.get(LOG, source, _log_of)
        newer = before is not None and reached.generation > before.generation
    except (TypeError, KeyError):
        return
    states.put(LOG, source, reached)
    if newer:
        _put(states, rewound(_session(states)))


def _take(segment: SegmentState, run: RunEntry) -> None:
    """Count a run in, and point to it where it is the first or the best."""
    segment.runs += 1
    _count(segment.statuses, run.status)
    segment.baseline = segment.baseline or run
    if run.wins:
        segment.baseline_valid = segment.baseline_valid or run
        segment.best = _best(segment.definition.direction, run, segment.best)


def _best(direction: str, run: RunEntry, best: RunEntry | None) -> RunEntry:
    if best is None or best.metric is None or run.metric is None:
        return run
    return run if better(direction, run.metric, best.metric) else best


def _run(record: dict[str, Any], ordinal: int) -> RunEntry:
    metric = record.get("metric")
    return RunEntry(
        seq=record["seq"],
        id=record["id"],
        segment=record["segment"],
        ordinal=record.get("ordinal") or ordinal,
        status=record.get("status") or "unknown",
        metric=metric if metric is not None and math.isfinite(metric) else None,
        run_logged=record.get("run_logged"),
    )


def _count(statuses: dict[str, int], status: str) -> None:
    statuses[status] = statuses.get(status, 0) + 1


def _stored(value: bytes | None) -> dict[str, Any] | None:
    return None if value is None else orjson.loads(value)


def _entry_of(stored: dict[str, Any] | None) -> RunEntry | None:
    return RunEntry(**stored) if stored else None


_DEFINED = ("name", "metric_name", "metric_unit", "direction")
_POINTERS = ("baseline", "baseline_valid", "best")
FOLDS = {
    ("records", "config"): _fold_config,
    ("records", "run"): _fold_run,
    ("records", "patch"): _fold_patch,
    ("events", POINTER_SET): _fold_pointer,
    ("events", RUN_KEPT): _fold_kept,
    ("events", KEEP_PUT): _fold_put,
    ("events", STATUS_CHANGED): _fold_status,
    ("events", LOG_READ): _fold_log,
}
