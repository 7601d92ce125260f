"""Repair contexts: a draft that was not taken, and what is needed to mend it.

Its packet is a task that does not advance while one is open. Resubmitted, the draft
names the context that it answers, and the chain of attempts can be followed from
either end.
"""

from collections.abc import Iterable

import orjson

from varvite import ids
from varvite.errors import RecordNotFoundError, StateConflictError
from varvite.graph.assess import HINTS, Draft, Fault
from varvite.graph.batch import Batch
from varvite.graph.packets import Packet
from varvite.graph.parameters import Parameters
from varvite.graph.table import Record, Spread, Table, kept, listed, state
from varvite.session.kind import Read

REPAIR, OPEN_REPAIRS, DRAFTED, ALL = "repair", "repairs_open", "repair_of_draft", "all"
WINDOW = 64
"""Open repair contexts that are at hand; those of a packet are all found with it."""


def load(read: Read, repair_id: str) -> Record:
    """A repair context as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, REPAIR, repair_id)
    if found is None:
        raise RecordNotFoundError(
            f"no repair context {repair_id[:80]!r}",
            hint="the view `repair_contexts` has all of them",
        )
    return found


def open_ones(read: Read, packet_id: str = ALL) -> list[str]:
    """The open contexts of a packet; without one, the first of all."""
    return listed(read, OPEN_REPAIRS, packet_id)


def answered(read: Read, packet: Packet, draft: Draft, drafted: str) -> str | None:
    """The open context that a draft answers: the one that it names, or one of the same draft.

    Raises:
        RecordNotFoundError
        StateConflictError: the one it names is not open, of another packet, or used up.
    """
    if draft.repairs is None:
        stored = read(DRAFTED, f"{packet.id}\0{drafted}")
        earlier = stored.decode() if stored else None
        return earlier if earlier in open_ones(read, packet.id) else None
    found = load(read, draft.repairs)
    if found["status"] != "open" or found["task_id"] != packet.id:
        raise StateConflictError(
            f"repair context {draft.repairs} is not open for this packet",
            hint="`repair_contexts` says which are",
        )
    return draft.repairs


def attempt(read: Read, repairs: str | None) -> int:
    """Which attempt a draft is that answers `repairs`.

    Raises:
        StateConflictError: there were as many as may be.
    """
    if repairs is None:
        return 1
    found = load(read, repairs)
    if found["attempt"] >= found["max_attempts"]:
        raise StateConflictError(
            f"repair context {repairs}: all {found['max_attempts']} attempts were made",
            hint="a human drops it, or opens the question anew",
        )
    return int(found["attempt"]) + 1


def add(
    batch: Batch,
    packet: Packet,
    draft: Draft,
    found: list[Fault],
    drafted: str,
    repairs: str | None,
    parameters: Parameters,
) -> str:
    """Open the context of a draft with faults; the one that it answered is answered by it."""
    number = attempt(batch.read, repairs)
    own = ids.derived("repair", packet.id, drafted, repairs or "", str(number))
    codes = list(dict.fromkeys(fault.code for fault in found))
    fields: Record = {
        "task_id": packet.id,
        "focus_id": packet.focus_id,
        "candidate_id": drafted,
        "status": "open",
        "attempt": number,
        "max_attempts": parameters.attempts,
        "codes": codes,
        "errors": [fault.as_dict() for fault in found],
        "draft": draft.given,
        "allowed_refs": packet.allowed_refs,
        "allowed_types": list(HINTS),
        "allowed_hints": {name: list(hints) for name, hints in HINTS.items()},
        "next_action": _next_action(codes, number, parameters.attempts),
    }
    if repairs is not None:
        fields["repairs"] = repairs
        close(batch, repairs, "answered", own)
    batch.add("repair_contexts", own, fields)
    return own


def close(batch: Batch, repair_id: str, status: str, answered_by: str | None = None) -> None:
    """Say what came of a context: answered by another, resolved by a candidate, or dropped."""
    found = load(batch.read, repair_id)
    more = {"answered_by": answered_by} if answered_by else {}
    batch.add("repair_contexts", repair_id, found | more | {"status": status})


def _next_action(codes: list[str], number: int, most: int) -> str:
    if codes == ["duplicate_candidate"]:
        return "drop"
    return "resubmit" if number < most else "human"


def _open(context: Record, read: Read) -> Iterable[tuple[str, bytes]]:
    for key, limit in ((context["task_id"], None), (ALL, WINDOW)):
        others = [one for one in listed(read, OPEN_REPAIRS, key) if one != context["id"]]
        if context["status"] == "open":
            others.append(context["id"])
        yield key, orjson.dumps(others[:limit])


TABLES = (
    Spread(OPEN_REPAIRS, "repair_contexts", _open),
    Table(
        DRAFTED,
        "repair_contexts",
        lambda context: (f"{context['task_id']}\0{context['candidate_id']}",),
        lambda context, _read: bytes(context["id"], "utf-8"),
    ),
    kept(REPAIR, "repair_contexts"),
)
