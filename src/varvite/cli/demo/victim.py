"""A writer that is made to be killed: it stops for ever in the middle of a commit.

`python -m varvite.cli.demo.victim STORE FILE SKIP WHERE` prints the cursor of each
batch that it was promised, then `halted`. WHERE: half of the batch is written
(`write`), or all of it and not yet synced (`sync`).
"""

import sys
import time
from collections.abc import Iterable
from itertools import islice

from varvite.cli.demo.folder import SEARCH
from varvite.disk.files import Files
from varvite.graph.payloads import Payload, in_file
from varvite.store import Store

PROMISED = 3
HALTED = "halted"
PER_BATCH = 4


class HaltingFiles(Files):
    """Once armed, the next write or sync of a batch never ends."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self.armed = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.armed and self._where == "write":
            super().write(fd, data[: len(data) // 2])
            _halt()
        return super().write(fd, data)

    def sync_data(self, fd: int) -> None:
        if self.armed and self._where == "sync":
            _halt()
        super().sync_data(fd)


def _halt() -> None:
    _say(HALTED)
    while True:
        time.sleep(1)


def _say(text: object) -> None:
    print(text, flush=True)  # noqa: T201  (the parent reads it)


def run(store: str, file: str, skip: int, where: str) -> None:
    files = HaltingFiles(where)
    given = islice(in_file(file), skip, None)
    with Store(store, files=files).graph(SEARCH) as session:
        for promised in range(PROMISED + 1):
            files.armed = promised == PROMISED
            _say(session.submit(_next(given)).cursor)


def _next(given: Iterable[Payload]) -> list[Payload]:
    return list(islice(given, PER_BATCH))


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
