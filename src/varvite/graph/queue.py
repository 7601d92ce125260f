"""The focuses that wait to be worked on next: a bounded list, best first.

Who is in it is a field of each focus, so what falls out is a record, and the list
follows from the records.
"""

from bisect import insort
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from varvite.graph.batch import Batch
from varvite.graph.table import Record, Table, listed, state
from varvite.session.kind import Read

QUEUE, QUEUE_KEY = "focus_queue", "all"
FOCUS = "focus"
_WAITING = frozenset({"candidate", "accepted"})


class Waiting(NamedTuple):
    """touched_seq breaks a tie: what was touched last comes first.

    asks: its packet waits for an answer.
    """

    score: float
    touched_seq: int
    focus_id: str
    asks: bool


def _order(entry: Sequence[Any]) -> tuple[float, int, str]:
    """By which the queue is sorted: of a Waiting, or of one as the index has it."""
    return (-entry[0], -entry[1], entry[2])


def waiting(read: Read) -> list[Waiting]:
    """The queue, best first. One read."""
    return [Waiting(*one) for one in listed(read, QUEUE, QUEUE_KEY)]


def admit(batch: Batch, focus_id: str, fields: Record, bound: int) -> None:
    """Set the focus's `queued`. Where the queue is full the worst of all falls out.

    Reads the queue, and the focus that falls out, which is added to the batch.
    """
    others = [one for one in listed(batch.read, QUEUE, QUEUE_KEY) if one[2] != focus_id]
    fields["queued"] = fields["status"] in _WAITING
    if not fields["queued"] or len(others) < bound:
        return
    if _order(_entry(focus_id, fields)) > _order(others[-1]):
        fields["queued"] = False
        return
    out = others[-1][2]
    fallen = state(batch.read, FOCUS, out)
    if fallen is not None:
        batch.add("focuses", out, fallen | {"queued": False})


def _entry(focus_id: str, focus: Record) -> Waiting:
    """Evidence is new from when it enters a packet until that packet is assessed."""
    asks = any(one["new"] for one in focus["evidence_refs"])
    return Waiting(focus["score"], focus["touched_seq"], focus_id, asks)


def _value(focus: Record, read: Read) -> bytes:
    entries = [one for one in listed(read, QUEUE, QUEUE_KEY) if one[2] != focus["id"]]
    if focus["queued"]:
        insort(entries, tuple(_entry(focus["id"], focus)), key=_order)
    return orjson.dumps(entries)


TABLES = (Table(QUEUE, "focuses", lambda _focus: (QUEUE_KEY,), _value),)
