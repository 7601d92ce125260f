"""What another store says of a session as a whole: from its row to our events.

Only what changed since the row was seen last is taken over, so what was done here in
between stays. The row is kept, whole.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from varvite.experiment import amending, ledger
from varvite.experiment.states import States
from varvite.experiment.status import TRANSITIONS
from varvite.session.kind import Read

MIRROR = "experiment_mirror"
ROW_READ = "session_row_read"
BATCH_EVENTS = 5_000

GetRecord = Callable[[str], dict[str, Any]]


class Seen(NamedTuple):
    """A row as it is there, and which reading of its records ours are of."""

    reading: int
    raw: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """What a row says, in our names and the ids of our records. about: see `about.TYPES`."""

    status: str
    finalized_at: str | None
    pointers: dict[str, str]
    kept: list[str]
    about: dict[str, Any]


def known(read: Read, source: str) -> Seen | None:
    """The row that was taken over last."""
    held = _held(read, source)
    return Seen(held["reading"], held["row"]) if "row" in held else None


def plan(
    source: str, seen: Seen, row: Row, read: Read, get_record: GetRecord
) -> list[dict[str, Any]]:
    """The events that make a session what the row says.

    Raises:
        RecordNotFoundError, InvalidRecordError: a pointer to what is no run here.
    """
    held = _held(read, source)
    before = held["told"] if held.get("reading") == seen.reading else {}
    told = {"status": row.status, "pointers": row.pointers}
    payload = {"source": source, "reading": seen.reading, "row": seen.raw, "told": told}
    return [
        amending.event(ledger.UPDATED, row.about),
        *_pointers(row, before, read, get_record),
        *_kept(row, read, get_record),
        *_steps(row, before, read),
        amending.event(ROW_READ, payload),
    ]


def batches(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The events as batches that can be appended; the last one says that all are there."""
    for begin in range(0, len(events), BATCH_EVENTS):
        yield events[begin : begin + BATCH_EVENTS]


def _held(read: Read, source: str) -> dict[str, Any]:
    value = read(MIRROR, source)
    return orjson.loads(value) if value else {}


def _pointers(
    row: Row, before: dict[str, Any], read: Read, get_record: GetRecord
) -> Iterator[dict[str, Any]]:
    segment = ledger.session_state(read).segment
    for name, run in row.pointers.items():
        if before.get("pointers", {}).get(name) != run:
            amending.run_entry(get_record(run))
            yield amending.pointer(name, run, segment)


def _kept(row: Row, read: Read, get_record: GetRecord) -> Iterator[dict[str, Any]]:
    entries = {run.id: run for run in ledger.kept(read)}
    for run_id in row.kept:
        run = entries.get(run_id) or amending.run_entry(get_record(run_id))
        made = amending.keeping(read, run, "fusion")
        if made:
            yield made


def _steps(row: Row, before: dict[str, Any], read: Read) -> Iterator[dict[str, Any]]:
    """The state of the session, by way of finalized where it once was that."""
    state = ledger.session_state(read)
    now = state.status
    if row.finalized_at and not state.finalized_at:
        yield _step(now, "finalized", {"finalized_at": row.finalized_at})
        now = "finalized"
    if row.status != before.get("status") and row.status != now and row.status in TRANSITIONS:
        yield _step(now, row.status, {})
    elif now not in {state.status, row.status}:
        yield _step(now, state.status, {})


def _step(now: str, to: str, more: dict[str, Any]) -> dict[str, Any]:
    return amending.event(ledger.STATUS_CHANGED, {"from": now, "to": to} | more)


def _fold_row(record: dict[str, Any], states: States) -> None:
    """The row that was seen last, by source."""
    payload = record.get("payload")
    if isinstance(payload, dict) and isinstance(payload.get("source"), str):
        states.put(MIRROR, payload["source"], payload)


FOLDS = {("events", ROW_READ): _fold_row}
