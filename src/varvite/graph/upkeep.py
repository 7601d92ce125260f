"""What jobs may leave for a graph session to do: acts by name, planned as the session stands.

Each costs what its payload names, and adds nothing where all of it holds already.
"""

from collections.abc import Mapping
from typing import Any

from varvite import ids
from varvite.errors import InputError
from varvite.graph import focus, obligations, status
from varvite.graph.batch import Batch
from varvite.graph.fold import fold
from varvite.graph.parameters import Parameters
from varvite.graph.queue import FOCUS
from varvite.graph.table import Record, state
from varvite.session.kind import Now, Plan
from varvite.session.records import seq_of

ITEMS_MAX = 500
"""Things that one act can name."""
SAME_WORK, PRIORITISE, OBLIGE = "same_work", "prioritise", "oblige"
_NAMED = frozenset({"content", "target_kind", "target_id"})
_SAID = frozenset({"kind", "why", "source_refs", "actionable"})


def same_work(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """An edge between the papers of each of `pairs`; one that was there once, retracted or not,
    stays as it is.

    Raises:
        InputError: too many pairs, or what is no pair of papers.
        SessionStatusError: the session is paused.
    """
    batch = opened(now)
    for pair in items(payload, "pairs"):
        edge_id = ids.derived("edge", SAME_WORK, *_papers(pair, now))
        if seq_of(now.read, "edges", edge_id) is None:
            ends = {"src": pair[0], "dst": pair[1]}
            fields = {"edge_kind": SAME_WORK, "origin": "maintenance", "status": "active"}
            batch.add("edges", edge_id, fields | ends)
    return batch.records


def _papers(pair: Any, now: Now) -> list[str]:
    match pair:
        case [str(one), str(other)] if one != other:
            if all(seq_of(now.read, "nodes", each) is not None for each in pair):
                return [one, other]
    raise InputError(f"no pair of papers: {str(pair)[:200]}", path="pairs")


def prioritise(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """Give each focus of `priorities` its priority; one that was closed meanwhile stays as it is.

    Raises:
        InputError: too many, or what is no focus and priority.
        SessionStatusError: the session is paused.
    """
    batch = opened(now)
    parameters = Parameters.of(now.parameters)
    for focus_id, priority in (_priority(one, batch) for one in items(payload, "priorities")):
        found = focus.load(batch.read, focus_id)
        if found["status"] != "closed" and found["priority"] != priority:
            focus.change(
                batch,
                focus_id,
                "reprioritised",
                focus_id,
                parameters,
                now.cursor,
                priority=priority,
            )
    return batch.records


def _priority(one: Any, batch: Batch) -> tuple[str, str]:
    match one:
        case [str(focus_id), str(priority)] if priority in focus.PRIORITIES:
            if state(batch.read, FOCUS, focus_id) is not None:
                return focus_id, priority
    raise InputError(f"no focus and priority: {str(one)[:200]}", path="priorities")


def oblige(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """Open each of `obligations`; one that was opened before stays as it is, closed too.

    Raises:
        InputError: too many, or what is no obligation. RecordNotFoundError: no such focus.
        SessionStatusError: the session is paused.
    """
    batch = opened(now)
    parameters = Parameters.of(now.parameters)
    for one in items(payload, "obligations"):
        fields = _obligation(one)
        if not obligations.known(batch.read, fields):
            obligations.add(batch, parameters=parameters, at_seq=now.cursor, **fields)
    return batch.records


def _obligation(one: Any) -> dict[str, Any]:
    named = isinstance(one, dict) and _NAMED <= one.keys() <= _NAMED | _SAID
    if named and all(isinstance(one[name], str) for name in _NAMED):
        return dict(one)
    raise InputError(f"no obligation: {str(one)[:200]}", path="obligations")


def opened(now: Now) -> Batch:
    """A batch for the session.

    Raises:
        SessionStatusError: it is paused.
    """
    status.check_takes_records(now.read, now.session_id)
    return Batch(now.read, fold)


def items(payload: Mapping[str, Any], name: str) -> list[Any]:
    """The things that the payload names.

    Raises:
        InputError: there are none, or too many.
    """
    given = payload.get(name)
    if not isinstance(given, list) or len(given) > ITEMS_MAX:
        raise InputError(f"an act takes {ITEMS_MAX} {name} at most, in a list", path=name)
    return given


ACTS: dict[str, Plan] = {SAME_WORK: same_work, PRIORITISE: prioritise, OBLIGE: oblige}
