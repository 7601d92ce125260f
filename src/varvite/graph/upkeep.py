"""What jobs may leave for a graph session to do: acts by name, planned as the session stands.

Each costs what its payload names, and adds nothing where all of it holds already.
"""

from collections.abc import Mapping
from typing import Any

from varvite import ids
from varvite.errors import InputError
from varvite.graph import status
from varvite.graph.batch import Batch
from varvite.graph.fold import fold
from varvite.graph.table import Record
from varvite.session.kind import Now, Plan
from varvite.session.records import seq_of

ITEMS_MAX = 500
"""Things that one act can name."""
SAME_WORK = "same_work"


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


ACTS: dict[str, Plan] = {SAME_WORK: same_work}
