"""What no durable store can beat: one write and one fdatasync of the same bytes."""

import os
from collections.abc import Callable
from typing import Self

from benchmarks.measuring import Case, Spent


class Floor:
    """A growing file beside the store."""

    def __init__(self, folder: str) -> None:
        self._fd = os.open(f"{folder}/floor", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def write(self, data: bytes) -> None:
        os.write(self._fd, data)
        os.fdatasync(self._fd)

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
