"""What an experiment session knows of its runs without reading them: a fold over its records.

One entry for the session, one per segment number, one per kept run, one per
foreign log: each record touches at most four, whatever the history. Best,
baselines, kept runs and counts are functions of the committed records alone.

A foreign log that was rewritten is read again under a new generation. The runs
of its earlier generations stay in the history and stop counting: counts and kept
runs begin anew, in a new segment. Numbers of runs and segments are never used twice.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import orjson

from varvite.experiment.status import TRANSITIONS
from varvite.session.kind import Entry, Read

SESSION, SEGMENT, KEPT, LOG = "experiment", "experiment_segment", "experiment_kept", "foreign_log"
KEPT_AT, PATCHED = "experiment_kept_at", "experiment_patched"
LOG_READ, STATUS_CHANGED = "log_read", "status_changed"
POINTER_SET, RUN_KEPT, UPDATED = "pointer_set", "run_kept", "session_updated"
KEEP_PUT = "keep_put"
"""By Fusion's rules: a keep, which is in the ledger by itself, was put there too."""
_ONLY = "session"

_State = TypeVar("_State")


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


@dataclass(frozen=True, slots=True)
class SegmentState:
    """baseline: the first run, whatever its status. baseline_valid: the first that wins."""

    segment: int
    definition: Definition
    runs: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    baseline: RunEntry | None = None
    baseline_valid: RunEntry | None = None
    best: RunEntry | None = None


@dataclass(frozen=True, slots=True)
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


def fold(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    """The index entries that one record of an experiment session makes; none if it tells nothing.

    Takes whatever the contracts let through: a fold that raised would shut the session.
    """
    handler = _FOLDS.get((record["stream"], str(record.get("type"))))
    if handler:
        yield from handler(record, read)


def session_state(read: Read) -> SessionState:
    value = read(SESSION, _ONLY)
    if value is None:
        return SessionState()
    return _last_session.decode(value)


def _session_of(value: bytes) -> SessionState:
    stored = orjson.loads(value)
    definition, declared = (Definition(**stored.pop(name)) for name in ("definition", "declared"))
    return SessionState(definition=definition, declared=declared, **stored)


def segment_state(read: Read, segment: int) -> SegmentState | None:
    value = read(SEGMENT, str(segment))
    if value is None:
        return None
    return _last_segment.decode(value)


def _segment_of(value: bytes) -> SegmentState:
    stored = orjson.loads(value)
    runs: dict[str, Any] = {name: _run_entry(stored.pop(name)) for name in _POINTERS}
    return SegmentState(definition=Definition(**stored.pop("definition")), **runs, **stored)


def kept(read: Read) -> Iterator[RunEntry]:
    """The kept runs that count, in the order of their records. One lookup each."""
    for number in range(1, session_state(read).kept + 1):
        run = _run_entry(_stored(read(KEPT, str(number))))
        if run:
            yield run


def is_kept(read: Read, run: RunEntry) -> bool:
    """Whether a run that counts is in the kept ledger: as a keep, or because it was put there."""
    number = read(KEPT_AT, run.id)
    if run.status == "keep" or number is None:
        return run.status == "keep"
    there = _run_entry(_stored(read(KEPT, number.decode())))
    return int(number) <= session_state(read).kept and there == run


def was_put(read: Read, run: RunEntry) -> bool:
    """Whether someone put the run into the kept ledger, a keep too."""
    return read(KEPT_AT, run.id) is not None


def patched(read: Read, seq: int) -> dict[str, Any]:
    """All that patches say of the record at `seq`, later ones over earlier ones."""
    return _stored(read(PATCHED, str(seq))) or {}


def log_state(read: Read, source: str) -> LogState | None:
    stored = _stored(read(LOG, source))
    return LogState(**stored) if stored else None


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


def better(direction: str, challenger: float, holder: float) -> bool:
    return challenger > holder if direction == "maximize" else challenger < holder


def _fold_config(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    state = session_state(read)
    definition = resolved(record, state.definition)
    declared = state.declared if record.get("source") else definition
    number = record["segment"]
    segment = segment_state(read, number) or SegmentState(number, definition)
    pins = state.pins if number == state.segment else {}
    state = replace(state, segment=number, definition=definition, declared=declared, pins=pins)
    yield _session(state)
    yield _segment(replace(segment, definition=definition))


def _fold_run(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    state = session_state(read)
    run = _run(record, state.ordinal + 1)
    segment = segment_state(read, run.segment) or SegmentState(run.segment, state.definition)
    yield _segment(_with_run(segment, run))
    kept_now = 1 if run.status == "keep" else 0
    if kept_now:
        yield KEPT, str(state.kept + 1), orjson.dumps(run)
    yield _session(
        replace(
            state,
            ordinal=run.ordinal,
            runs=state.runs + 1,
            statuses=_counted(state.statuses, run.status),
            kept=state.kept + kept_now,
        )
    )


def _fold_kept(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    try:
        state, run = session_state(read), RunEntry(**record["payload"]["run"])
    except (TypeError, KeyError):
        return
    number = str(state.kept + 1)
    yield KEPT_AT, run.id, number.encode()
    yield KEPT, number, orjson.dumps(run)
    yield _session(replace(state, kept=state.kept + 1))


def _fold_put(record: dict[str, Any], _read: Read) -> Iterator[Entry]:
    payload = record.get("payload")
    if isinstance(payload, dict) and isinstance(payload.get("run"), str):
        yield KEPT_AT, payload["run"], b"0"


def _fold_pointer(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    state, payload = session_state(read), record.get("payload")
    if isinstance(payload, dict) and isinstance(payload.get("run"), str):
        pins = state.pins | {str(payload.get("pointer")): payload["run"]}
        yield _session(replace(state, pins=pins))


def _fold_patch(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    target, patch = record.get("target_seq"), record.get("payload")
    if target and isinstance(patch, dict):
        yield PATCHED, str(target), orjson.dumps(patched(read, target) | patch)


def _fold_status(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    state = session_state(read)
    payload = record.get("payload")
    status = payload.get("to") if isinstance(payload, dict) else None
    if not isinstance(status, str) or status not in TRANSITIONS:
        return
    finalized_at = state.finalized_at
    if status == "finalized" and finalized_at is None:
        finalized_at = _said_moment(payload) or record["at"]
    yield _session(replace(state, status=status, finalized_at=finalized_at))


def _said_moment(payload: Any) -> str | None:
    """When another store says that the session was finalized."""
    moment = payload.get("finalized_at")
    return moment if isinstance(moment, str) else None


def _fold_log(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    try:
        source, reached = record["payload"]["source"], LogState(**record["payload"]["reached"])
        newer = (before := log_state(read, source)) and reached.generation > before.generation
    except (TypeError, KeyError):
        return
    yield LOG, source, orjson.dumps(reached)
    if newer:
        yield _session(rewound(session_state(read)))


def _with_run(segment: SegmentState, run: RunEntry) -> SegmentState:
    baseline_valid, best = segment.baseline_valid, segment.best
    if run.wins:
        baseline_valid = baseline_valid or run
        best = _best(segment.definition.direction, run, best)
    return replace(
        segment,
        runs=segment.runs + 1,
        statuses=_counted(segment.statuses, run.status),
        baseline=segment.baseline or run,
        baseline_valid=baseline_valid,
        best=best,
    )


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


def _counted(statuses: dict[str, int], status: str) -> dict[str, int]:
    return statuses | {status: statuses.get(status, 0) + 1}


class _Last(Generic[_State]):
    """The state seen last: mostly what is read is what the record before it wrote."""

    def __init__(self, decode: Callable[[bytes], _State]) -> None:
        self._decode = decode
        self._seen: tuple[bytes, _State] | None = None

    def encode(self, state: _State) -> bytes:
        value = orjson.dumps(state)
        self._seen = value, state
        return value

    def decode(self, value: bytes) -> _State:
        seen = self._seen
        if seen is None or seen[0] != value:
            seen = self._seen = value, self._decode(value)
        return seen[1]


_last_session = _Last(_session_of)
_last_segment = _Last(_segment_of)


def _session(state: SessionState) -> Entry:
    return SESSION, _ONLY, _last_session.encode(state)


def _segment(state: SegmentState) -> Entry:
    return SEGMENT, str(state.segment), _last_segment.encode(state)


def _stored(value: bytes | None) -> dict[str, Any] | None:
    return None if value is None else orjson.loads(value)


def _run_entry(stored: dict[str, Any] | None) -> RunEntry | None:
    return RunEntry(**stored) if stored else None


_DEFINED = ("name", "metric_name", "metric_unit", "direction")
_POINTERS = ("baseline", "baseline_valid", "best")
_FOLDS = {
    ("records", "config"): _fold_config,
    ("records", "run"): _fold_run,
    ("records", "patch"): _fold_patch,
    ("events", POINTER_SET): _fold_pointer,
    ("events", RUN_KEPT): _fold_kept,
    ("events", KEEP_PUT): _fold_put,
    ("events", STATUS_CHANGED): _fold_status,
    ("events", LOG_READ): _fold_log,
}
