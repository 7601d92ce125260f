"""The floor of an append, as cases to be measured beside it."""

from collections.abc import Callable

from benchmarks.measuring import Case, Spent
from varvite.bench import floor


class Floor(floor.Floor):
    def cases(self, block: Callable[[], bytes]) -> list[Case]:
        """The floor twice: what lies between the two is noise."""
        return [Case(name, self.write, block) for name in ("floor", "floor again")]


def noise(spent: dict[str, Spent]) -> float:
    """How far the medians of the two floors lie apart, as a share."""
    return abs(spent["floor again"].wall_s / spent["floor"].wall_s - 1)


def last_block(session: str) -> bytes:
    """The bytes that the last batch put into a session's journal."""
    with open(f"{session}/events.ndjson", "rb") as file:
        data = file.read()
    commit = data.rindex(b'\n{"commit":{') + 1
    before = data.rfind(b'\n{"commit":{', 0, commit - 1) + 1
    return data[data.index(b"\n", before) + 1 :]
