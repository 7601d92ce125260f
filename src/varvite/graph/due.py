"""Which obligations are at hand, and which have been left open too long.

Those that fall due at a step stand in one list under that step's number, so that
nothing ever looks through the open ones.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import orjson

from varvite.errors import RecordNotFoundError
from varvite.graph import steps
from varvite.graph.batch import Batch
from varvite.graph.lane import Lane
from varvite.graph.parameters import Parameters
from varvite.graph.table import Record, Spread, Table, kept, listed, state
from varvite.session.kind import Read

OBLIGATION, OBLIGATION_FOCUS = "obligation", "obligation_focus"
DUE, DUE_LAST, OPEN, ALL = "obligation_due", "obligation_due_last", "obligations_open", "all"
DUE_MAX = 64
"""Obligations that fall due at one step; more of them wait for the next."""
WINDOW = 64
"""Open obligations that are at hand, overdue ones first; the others are records."""


GAIA = "gaia"
WAITS_BY = ("lane", "place", "planned")
FOR_GAIA = Lane(
    "obligation_waits",
    "obligations",
    OBLIGATION,
    lambda one: bool(one["status"] == "open" and one.get("planned") is False),
)
"""Open ones that Gaia has no room for yet."""


class Open(NamedTuple):
    """How many are open and deferred, and the ids of the first ones, with their overdue."""

    open: int = 0
    deferred: int = 0
    window: list[tuple[str, int]] = []  # noqa: RUF012  (never changed)


def at_hand(read: Read) -> Open:
    """One read."""
    return Open(*listed(read, OPEN, ALL))


def load(read: Read, obligation_id: str) -> Record:
    """An obligation as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, OBLIGATION, obligation_id)
    if found is None:
        raise RecordNotFoundError(
            f"no obligation {obligation_id[:80]!r}", hint="the view `obligations` has all of them"
        )
    return found


def fall_due(batch: Batch, parameters: Parameters) -> Iterator[tuple[str, str]]:
    """Note what is overdue at the coming step: its focus, if it has one, and its id.

    Reads the step's list, and the obligations in it: DUE_MAX at most.
    """
    step = steps.count(batch.read) + 1
    for obligation_id in listed(batch.read, DUE, str(step)):
        found = load(batch.read, obligation_id)
        if found["status"] != "open" or found["due_step"] != step:
            continue
        due = due_step(batch.read, step + parameters.overdue_after)
        again = {"overdue": found["overdue"] + 1, "due_step": due}
        batch.add("obligations", obligation_id, found | again)
        if "focus_id" in found:
            yield found["focus_id"], obligation_id


def due_step(read: Read, wanted: int) -> int:
    """The first step from `wanted` whose list has room. Two reads."""
    if len(listed(read, DUE, str(wanted))) < DUE_MAX:
        return wanted
    last = max(wanted, int(read(DUE_LAST, ALL) or b"0"))
    return last if len(listed(read, DUE, str(last))) < DUE_MAX else last + 1


def _due(obligation: Record, read: Read) -> Iterable[tuple[str, bytes]]:
    due = obligation.get("due_step")
    if obligation["status"] == "open" and due is not None:
        waiting = [one for one in listed(read, DUE, str(due)) if one != obligation["id"]]
        yield str(due), orjson.dumps([*waiting, obligation["id"]])


def _due_last(obligation: Record, read: Read) -> bytes:
    last = int(read(DUE_LAST, ALL) or b"0")
    return b"%d" % max(last, obligation.get("due_step") or 0)


def _open(obligation: Record, read: Read) -> bytes:
    """Reads the obligation as it was, so it comes before OBLIGATION in the list of tables."""
    before = state(read, OBLIGATION, obligation["id"])
    now = at_hand(read)
    counts = {"open": now.open, "deferred": now.deferred}
    for status, more in ((before and before["status"], -1), (obligation["status"], 1)):
        if status in counts:
            counts[status] += more
    window = [(one, overdue) for one, overdue in now.window if one != obligation["id"]]
    if obligation["status"] == "open":
        window.append((obligation["id"], obligation["overdue"]))
        window.sort(key=lambda one: -one[1])
    return orjson.dumps((counts["open"], counts["deferred"], window[:WINDOW]))


def _focus(obligation: Record) -> Iterable[str]:
    return (obligation["id"],) if obligation.get("focus_id") else ()


TABLES = (
    Spread(DUE, "obligations", _due),
    Table(DUE_LAST, "obligations", lambda _obligation: (ALL,), _due_last),
    Table(OPEN, "obligations", lambda _obligation: (ALL,), _open),
    Table(OBLIGATION_FOCUS, "obligations", _focus, lambda o, _read: bytes(o["focus_id"], "utf-8")),
    kept(OBLIGATION, "obligations"),
    FOR_GAIA.table(),
)
