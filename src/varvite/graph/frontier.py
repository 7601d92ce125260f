"""Calls that are to be made: added, leased to whoever makes them, done, failed, retried.

A lease ends at a step or at a time, whichever is first; whoever leases says what time
it is. What was leased and is over is leased again before anything else. A leased call is
done, or failed, with the response that answers it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from varvite import ids
from varvite.errors import InputError, RecordNotFoundError, StateConflictError
from varvite.graph import steps
from varvite.graph.batch import Batch
from varvite.graph.delta import filled
from varvite.graph.lane import Lane
from varvite.graph.table import Record, Spread, Table, kept, listed, state
from varvite.session.kind import Read

FRONTIER, LEASED, ALL = "frontier", "frontier_leased", "all"
LEASED_TEXT = "frontier_leased_text"
"""Leased calls by what they ask."""
KINDS = ("query", "paper", "claim_chain", "obligation")
LANES = ("high", "medium", "low")
LEASED_MAX = 256
"""Calls that may be leased at one time."""
STEPS: dict[str, frozenset[str]] = {
    "pending": frozenset({"leased", "skipped"}),
    "leased": frozenset({"leased", "done", "failed", "skipped"}),
    "done": frozenset(),
    "failed": frozenset(),
    "skipped": frozenset(),
}

WAITING = Lane("frontier_lane", "frontier", FRONTIER, lambda call: call["status"] == "pending")


def add(
    batch: Batch,
    request: Mapping[str, Any],
    *,
    item_kind: str = "query",
    priority: str = "medium",
    dedup_key: str | None = None,
    origin: Mapping[str, Any] | None = None,
) -> str:
    """Add a call; returns its id. The same one again, whatever became of it, adds nothing.

    Raises:
        InputError: a word that is none, or no request.
    """
    if item_kind not in KINDS or priority not in LANES or not request:
        raise InputError(
            "a call has a request, a kind and a priority",
            hint=f"kinds: {', '.join(KINDS)}; priorities: {', '.join(LANES)}",
        )
    key = dedup_key or orjson.dumps(dict(request), option=orjson.OPT_SORT_KEYS).decode()
    own = ids.derived("frontier", item_kind, key)
    if state(batch.read, FRONTIER, own) is None:
        made = {"item_kind": item_kind, "status": "pending", "attempt": 1, "request": dict(request)}
        given = filled(dedup_key=dedup_key, origin=dict(origin) if origin else None)
        _put(batch, own, made | given, priority)
    return own


def lease(
    batch: Batch,
    count: int,
    *,
    by: str,
    now: str,
    until: str | None = None,
    for_steps: int | None = None,
) -> list[str]:
    """Lease up to `count` calls to `by`; returns their ids, the most pressing first.

    now, until: times in UTC as the session writes them. for_steps: continuation steps.
    Reads the leased ones and a few keys for each call that it leases.

    Raises:
        InputError: neither `until` nor `for_steps`, or a time that is none.
    """
    if until is None and for_steps is None:
        raise InputError("a lease ends: say when", hint="`--until TIME` or `--for-steps N`")
    step, moment = steps.count(batch.read), _time(now)
    held = listed(batch.read, LEASED, ALL)
    over = [one for one in held if _is_over(load(batch.read, one), step, moment)]
    room = min(count - len(over[:count]), LEASED_MAX - len(held))
    chosen = [*over[:count], *_next(batch.read, room)]
    terms = filled(
        lease_by=by,
        lease_until=until if until is None else _checked(until),
        lease_step=step + for_steps if for_steps is not None else None,
    )
    for call_id in chosen:
        found = load(batch.read, call_id)
        batch.add("frontier", call_id, unleased(found) | terms | {"status": "leased"})
    return chosen


def finish(
    batch: Batch, call_id: str, status: str, *, by: str | None = None, **fields: Any
) -> Record:
    """Say what became of a call: done, failed or skipped; returns it as it is then.

    by: whoever held the lease; refused where another one holds it now. What is said
    already, with the same fields, is no second end.

    Raises:
        RecordNotFoundError
        StateConflictError
    """
    found = load(batch.read, call_id)
    said = filled(**fields)
    if found["status"] == status and found | said == found and "response_id" in found:
        return found
    if status not in STEPS[found["status"]]:
        raise StateConflictError(f"call {call_id} is {found['status']} and cannot become {status}")
    holder = found.get("lease_by")
    if by is not None and holder not in (None, by):
        raise StateConflictError(
            f"call {call_id} is leased to {holder[:80]}", hint="its lease ended; lease again"
        )
    made = unleased(found) | said | {"status": status}
    batch.add("frontier", call_id, made)
    return made


def answered(read: Read, text: str | None) -> str | None:
    """The call that an answer to this text ends: the only leased one that asks it. One read."""
    leased = listed(read, LEASED_TEXT, _text_key(text)) if text else []
    return leased[0] if len(leased) == 1 else None


def retry(batch: Batch, call_id: str) -> str:
    """Add the call again; returns the id of the new attempt, which names this one.

    Raises:
        RecordNotFoundError
        StateConflictError: it did not fail.
    """
    found = load(batch.read, call_id)
    if found["status"] != "failed":
        raise StateConflictError(
            f"call {call_id} is {found['status']}: only a failed one is tried again"
        )
    own = ids.derived("frontier", call_id, "retry")
    if state(batch.read, FRONTIER, own) is None:
        copied = ("item_kind", "request", "origin", "dedup_key")
        made = {name: found[name] for name in copied if name in found}
        made |= {"status": "pending", "attempt": found["attempt"] + 1, "retry_of": call_id}
        _put(batch, own, made, found["lane"])
    return own


def load(read: Read, call_id: str) -> Record:
    """A call as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, FRONTIER, call_id)
    if found is None:
        raise RecordNotFoundError(f"no call {call_id[:80]!r} in the frontier")
    return found


def waiting(read: Read) -> Iterator[tuple[str, Record]]:
    """The calls that wait, the most pressing first; two reads for each that is asked for."""
    for lane in LANES:
        yield from WAITING.waiting(read, lane)


def counts(read: Read) -> dict[str, int]:
    pending = sum(WAITING.length(read, lane) for lane in LANES)
    return {"pending": pending, "leased": len(listed(read, LEASED, ALL))}


def _next(read: Read, count: int) -> list[str]:
    chosen: list[str] = []
    for call_id, _ in waiting(read):
        if len(chosen) >= count:
            break
        chosen.append(call_id)
    return chosen


def _put(batch: Batch, call_id: str, fields: Record, lane: str) -> None:
    place = {"lane": lane, "place": WAITING.next_place(batch.read, lane)}
    batch.add("frontier", call_id, fields | place)


def _is_over(call: Record, step: int, now: datetime) -> bool:
    last, until = call.get("lease_step"), call.get("lease_until")
    return (last is not None and step >= last) or (until is not None and now >= _time(until))


def unleased(call: Record) -> Record:
    """The call without the terms of its lease."""
    return {name: value for name, value in call.items() if not name.startswith("lease_")}


def _time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InputError(f"{text[:40]!r} is no time", hint="as 2026-01-31T12:00:00Z")
    return found


def _checked(text: str) -> str:
    _time(text)
    return text


def _text_key(text: str) -> str:
    return ids.derived("text", text)


def _leased_text(call: Record, read: Read) -> Iterator[tuple[str, bytes]]:
    text = (call.get("request") or {}).get("text")
    if call.get("place") is not None and isinstance(text, str):
        key = _text_key(text)
        others = [one for one in listed(read, LEASED_TEXT, key) if one != call["id"]]
        held = [*others, call["id"]] if call["status"] == "leased" else others
        yield key, orjson.dumps(held)


def _leased(call: Record, read: Read) -> bytes:
    held = [one for one in listed(read, LEASED, ALL) if one != call["id"]]
    return orjson.dumps([*held, call["id"]] if call["status"] == "leased" else held)


def _placed(call: Record) -> Sequence[str]:
    return (call["id"],) if call.get("place") is not None else ()


def _listed(call: Record) -> Sequence[str]:
    return (ALL,) if call.get("place") is not None else ()


_KEPT = kept(FRONTIER, "frontier")
TABLES = (
    _KEPT._replace(keys=_placed),
    WAITING.table(),
    Table(LEASED, "frontier", _listed, _leased),
    Spread(LEASED_TEXT, "frontier", _leased_text),
)
