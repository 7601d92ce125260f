"""The record of a response and of the call that brought it, with the call it retries."""

from typing import Any, NamedTuple, NoReturn

from varvite.errors import MalformedInputError, StateConflictError
from varvite.graph import frontier as frontier_calls
from varvite.graph import payloads
from varvite.graph.delta import Delta, filled
from varvite.graph.known import Call, Known
from varvite.graph.payloads import Payload

Record = dict[str, Any]


class Origin(NamedTuple):
    """Where the records of one response come from."""

    response_id: str
    query: str | None


def response(payload: Payload, delta: Delta, origin: Origin) -> Record:
    return {
        "stream": "responses",
        "id": origin.response_id,
        "file": payload.file,
        "index_id": payload.index_id,
        "code": delta.code,
        "raw": payload.raw,
    } | filled(
        line=payload.line,
        query=origin.query,
        trace_id=delta.trace_id,
        envelope=payload.envelope,
    )


def frontier(
    payload: Payload,
    delta: Delta,
    origin: Origin,
    known: Known,
    new_nodes: int,
    source_ids: list[str],
) -> Record:
    """The call as done or failed: the leased one that it answers, else one of its own.

    `known` learns of it.

    Raises:
        MalformedInputError: `retry_of` or `answers` names no call.
        StateConflictError: the call that it answers is not leased.
    """
    leased = _leased(payload, origin, known)
    call_id = leased["id"] if leased else origin.response_id.replace("response", "call", 1)
    retried, dedup_key = _retried(payload, known, call_id)
    dedup_key = leased.get("dedup_key") or dedup_key
    attempt = max(retried.attempt + 1 if retried else 1, leased.get("attempt", 1))
    known.add_call(dedup_key, Call(call_id, attempt, dedup_key))
    made = {
        "stream": "frontier",
        "id": call_id,
        "item_kind": delta.item_kind,
        "dedup_key": dedup_key,
        "status": "failed" if delta.code else "done",
        "attempt": attempt,
        "response_id": origin.response_id,
        "code": delta.code,
        "hits": len(delta.hits),
        "new_nodes": new_nodes,
    } | filled(
        request={"text": origin.query} if origin.query else None,
        retry_of=retried.id if retried else None,
        message=delta.message,
        trace_id=delta.trace_id,
        source_ids=source_ids or None,
    )
    return made | leased | {"status": made["status"], "attempt": attempt}


def _leased(payload: Payload, origin: Origin, known: Known) -> Record:
    """The leased call that the payload answers, as it is without its lease; else nothing."""
    call_id = payload.answers or known.answered(origin.query)
    if call_id is None:
        return {}
    found = known.waiting(call_id)
    if found is None:
        _unknown(payload, "answers", "name a call that `frontier lease` gave out")
    if found["status"] != "leased":
        raise StateConflictError(
            f"{payload.place()} answers call {call_id}, which is {found['status']}",
            hint="submit it without `answers`",
        )
    known.end(call_id)
    return {"id": call_id} | frontier_calls.unleased(found)


def _retried(payload: Payload, known: Known, call_id: str) -> tuple[Call | None, str]:
    """The call that this one repeats, and what the two have in common."""
    own = payload.call or payload.file or call_id
    if payload.retry_of is not None:
        hint = "submit the call that failed first"
        retried = known.call(payload.retry_of) or _unknown(payload, "retry_of", hint)
        return retried, retried.dedup_key or own
    for label in payloads.first_tries(own):
        own = label
        earlier = known.call(label)
        if earlier is not None:
            return earlier, label
    return None, own


def _unknown(payload: Payload, field: str, hint: str) -> NoReturn:
    raise MalformedInputError(
        f"{payload.place()}: {field} names no call of this session",
        hint=hint,
        file=payload.lies_in,
        line=payload.line,
        offset=payload.offset,
        path=f"$.{field}",
    )
