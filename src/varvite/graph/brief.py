"""All that an agent needs to go on, who knows nothing: bounded, from the index alone."""

from typing import Any

from varvite.graph import due, focus, frontier, outbox, packets, queue, repair, status, steps
from varvite.graph.table import Record
from varvite.session.kind import Read

FOCUSES, PACKETS, OBLIGATIONS, REPAIRS, CALLS = 5, 3, 10, 10, 5
"""How many of each a brief shows, unless it is asked for more or fewer."""
SHOWN_MAX = 64
_FOCUS = (
    "question",
    "status",
    "priority",
    "readiness",
    "bucket_ids",
    "open_obligations",
    "triggers",
    "cause",
    "packet_id",
)
_OBLIGATION = ("content", "diagnostic_kind", "target_kind", "target_id", "focus_id", "overdue")
_REPAIR = (
    "task_id",
    "attempt",
    "max_attempts",
    "codes",
    "errors",
    "draft",
    "allowed_refs",
    "next_action",
)
_CALL = ("item_kind", "request", "attempt", "lane")


def brief(read: Read, head: dict[str, Any], *, size: int = 1) -> dict[str, Any]:
    """head: session id, cursor and totals. size: a multiple of what is shown by default.

    Reads a few keys, and one to three for each thing shown.
    """
    waiting = queue.waiting(read)
    return head | {
        "status": status.now(read),
        "step": steps.count(read),
        "focuses": _focuses(read, waiting[: _most(FOCUSES, size)]),
        "focuses_waiting": len(waiting),
        "packets": [one._asdict() for one in pending(read, _most(PACKETS, size))],
        "obligations": _obligations(read, _most(OBLIGATIONS, size)),
        "repair_contexts": _repairs(read, _most(REPAIRS, size)),
        "frontier": frontier.counts(read) | {"next": _calls(read, _most(CALLS, size))},
        "outbox": outbox.counts(read),
        "next_action": next_action(read),
    }


def next_action(read: Read) -> str:
    """The one thing to do first, in words that name the verb."""
    if status.now(read) == "paused":
        return "resume"
    if repair.open_ones(read):
        return "assess: mend a draft that waits for repair"
    if any(one.asks for one in queue.waiting(read)):
        return "assess: answer a pending packet"
    if next(frontier.waiting(read), None) is not None:
        return "frontier: lease a call and submit its answer"
    return "submit: search for what the focuses and open gaps ask"


def pending(read: Read, count: int) -> list[packets.Packet]:
    """The pending packets of the focuses that wait, best first. One read each, and the queue."""
    asking = [one.focus_id for one in queue.waiting(read) if one.asks][:count]
    stored = [packets.latest(read, one) for one in asking]
    return [packets.as_packet(one) for one in stored if one is not None]


def _most(count: int, size: int) -> int:
    return max(1, min(count * size, SHOWN_MAX))


def _focuses(read: Read, waiting: list[queue.Waiting]) -> list[Record]:
    return [_shown(one.focus_id, focus.load(read, one.focus_id), _FOCUS) for one in waiting]


def _obligations(read: Read, count: int) -> dict[str, Any]:
    at_hand = due.at_hand(read)
    shown = [_shown(one, due.load(read, one), _OBLIGATION) for one, _ in at_hand.window[:count]]
    return {"open": at_hand.open, "deferred": at_hand.deferred, "first": shown}


def _repairs(read: Read, count: int) -> list[Record]:
    ids = repair.open_ones(read)[:count]
    return [_shown(one, repair.load(read, one), _REPAIR) for one in ids]


def _calls(read: Read, count: int) -> list[Record]:
    shown: list[Record] = []
    for call_id, call in frontier.waiting(read):
        if len(shown) >= count:
            break
        shown.append(_shown(call_id, call, _CALL))
    return shown


def _shown(record_id: str, fields: Record, names: tuple[str, ...]) -> Record:
    return {"id": record_id} | {name: fields[name] for name in names if name in fields}
