"""From a batch of a foreign log to a batch of the session: pure, so that it can be planned."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from varvite import ids
from varvite.errors import StateConflictError
from varvite.experiment.ledger import LOG_READ, LogState, SessionState, rewound
from varvite.experiment.placing import Place
from varvite.records.foreign import Defaulted, LogBatch, LogCursor, Quarantined


@dataclass(slots=True)
class ImportReport:
    """What one import read. `lines` counts blank ones too; `imported` those that became records.

    patched: lines read before of which the other tool said more since.
    reasons: why each of `quarantined` could not be read, in their order.
    rewritten: the log had changed below the cursor, and was read whole.
    unfinished: bytes of a last line without newline, left for the next import.
    cursor: the session's, after the import.
    """

    source: str
    generation: int = 1
    rewritten: bool = False
    lines: int = 0
    imported: int = 0
    patched: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    defaulted: list[Defaulted] = field(default_factory=list)
    unfinished: int = 0
    cursor: int = 0

    def add(self, batch: LogBatch, before: LogState | None) -> None:
        self.generation = batch.cursor.generation
        earlier = _continued(batch, before)
        self.rewritten |= earlier is not before
        self.lines += batch.cursor.lines - (earlier.lines if earlier else 0)
        records = [one for one in batch.records if one["stream"] == "records"]
        self.imported += sum(one.get("source_line") is not None for one in records)
        self.patched += sum(one["type"] == "patch" for one in records)
        self.quarantined += batch.quarantined
        aside = (one for one in batch.records if one["stream"] == "quarantine")
        self.reasons += [one["reason"] for one in aside if one["part"] == 1]
        self.defaulted += batch.defaulted
        self.unfinished = batch.unfinished


class Step(NamedTuple):
    """Records to commit as one batch, none if the log had nothing new; and the log's state then."""

    records: list[dict[str, Any]]
    reached: LogState | None


def cursor_of(log: LogState | None) -> LogCursor | None:
    return LogCursor(log.offset, log.sha256, log.lines, log.generation) if log else None


def plan(
    source: str, batch: LogBatch, before: LogState | None, state: SessionState, uid: str
) -> Step:
    """What to commit for a batch of the log `source`, which stood at `before`.

    An event with the cursor goes first, so that it holds with the records or not at all.

    Raises:
        StateConflictError: the log was rewritten, but other runs count beside its own.
    """
    if batch.cursor == (cursor_of(before) or LogCursor()):
        return Step([], before)
    earlier, records = _continued(batch, before), batch.records
    if not before:
        _refuse_placed(source, batch, state)
    if before and not earlier:
        _refuse_mixed(source, before, state)
        state = rewound(state)
        records = [_fresh_config(source, batch, state), *records]
    runs = sum(record.get("type") == "run" for record in batch.records)
    reached = LogState(**asdict(batch.cursor), runs=runs + (earlier.runs if earlier else 0))
    payload = {"source": source, "reached": asdict(reached)}
    event: dict[str, Any] = {"stream": "events", "type": LOG_READ, "payload": payload}
    return Step([event, *_placed(records, state, uid)], reached)


def _fresh_config(source: str, batch: LogBatch, state: SessionState) -> dict[str, Any]:
    """The config with which a new generation starts, so that its segment says what it measures."""
    where = {"source": source, "source_line": None, "generation": batch.cursor.generation}
    return {"stream": "records", "type": "config", **asdict(state.definition), **where}


def _placed(
    records: Iterable[dict[str, Any]], state: SessionState, uid: str
) -> Iterator[dict[str, Any]]:
    place = Place(state)
    for record in records:
        yield place.stamp(record) | {"id": record.get("id") or _line_id(record, uid)}


def _line_id(record: dict[str, Any], uid: str) -> str:
    where = (record["source"], record["generation"], record["source_line"], record.get("part", 1))
    return ids.derived(record.get("type", "line"), uid, *map(str, where))


def _refuse_placed(source: str, batch: LogBatch, state: SessionState) -> None:
    """Refuse records that bring their segments along where there are segments already."""
    if state.runs and any("segment" in record for record in batch.records):
        raise StateConflictError(
            f"the session has {state.runs} runs that are not from {source}",
            hint="import it into a session of its own",
        )


def _refuse_mixed(source: str, before: LogState, state: SessionState) -> None:
    """Runs leave the count all together or not at all: to take out some would read history."""
    others = state.runs - before.runs
    if others:
        raise StateConflictError(
            f"{source} was rewritten, and {others} other runs count beside its own",
            hint="import it into a session of its own",
        )


def _continued(batch: LogBatch, before: LogState | None) -> LogState | None:
    """`before`, unless the batch is of a later generation."""
    return before if before and before.generation == batch.cursor.generation else None
