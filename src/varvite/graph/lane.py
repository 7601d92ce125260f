"""First in, first out, however many wait: a lane of numbered places in the index.

Each place is a key; where a lane begins and ends are two more. Adding, looking at the
next few and leaving cost a few keys each, and every place is passed once.
"""

from collections.abc import Callable, Iterable, Iterator

from varvite.graph.table import Record, Spread, state
from varvite.session.kind import Read


class Lane:
    """The lanes of one stream. A record is in the lane `lane` at `place`, from 1.

    kept: the table that has the records as they stand; it comes before this one in the
    list of tables. waits: whether a record that is at its place still waits there.
    """

    def __init__(self, name: str, stream: str, kept: str, waits: Callable[[Record], bool]) -> None:
        self.name, self._stream, self._kept, self._waits = name, stream, kept, waits

    def table(self) -> Spread:
        return Spread(self.name, self._stream, self._entries)

    def next_place(self, read: Read, lane: str) -> int:
        return self._number(read, lane, "tail") + 1

    def length(self, read: Read, lane: str) -> int:
        """Places from the first that waits to the last. Two reads."""
        return self._number(read, lane, "tail") - self._number(read, lane, "head")

    def waiting(self, read: Read, lane: str) -> Iterator[tuple[str, Record]]:
        """What waits in the lane, in order; two reads for each that is asked for."""
        tail = self._number(read, lane, "tail")
        for place in range(self._number(read, lane, "head") + 1, tail + 1):
            found = self._at(read, lane, place)
            if found is not None:
                yield found

    def _entries(self, record: Record, read: Read) -> Iterable[tuple[str, bytes]]:
        lane, place = record.get("lane"), record.get("place")
        if lane is None or place is None:
            return
        tail, head = self._number(read, lane, "tail"), self._number(read, lane, "head")
        if place > tail:
            yield f"{lane}:{place}", bytes(record["id"], "utf-8")
            yield f"{lane}:tail", b"%d" % place
            return
        passed = head
        while passed < tail and self._at(read, lane, passed + 1) is None:
            passed += 1
        if passed > head:
            yield f"{lane}:head", b"%d" % passed

    def _at(self, read: Read, lane: str, place: int) -> tuple[str, Record] | None:
        """Who waits at a place; None where that one has left."""
        owner = (read(self.name, f"{lane}:{place}") or b"").decode()
        found = state(read, self._kept, owner)
        if found is None or (found.get("lane"), found.get("place")) != (lane, place):
            return None
        return (owner, found) if self._waits(found) else None

    def _number(self, read: Read, lane: str, end: str) -> int:
        return int(read(self.name, f"{lane}:{end}") or b"0")
