"""Opening a session for writing, after a clean close and after a kill, on histories of any size."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import varvite
from benchmarks import seeding
from benchmarks.measuring import Case, interleaved
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.graph.session import GraphSession

TARGET = 1.3
_KILLED = """
import os, signal, sys, varvite
session = varvite.open(sys.argv[1]).graph(sys.argv[2])
os.kill(os.getpid(), signal.SIGKILL)
"""


class _Opener:
    """Opens a store's session; what was opened is closed before the next time."""

    def __init__(self, store: str, stack: ExitStack) -> None:
        self.store = varvite.open(store)
        self._open: GraphSession | None = None
        stack.callback(self.close)

    def open(self, _: object = None) -> None:
        self._open = self.store.graph(SESSION)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def kill(self) -> None:
        """Leave the session as a writer leaves it that is killed."""
        self.close()
        killed = subprocess.run(
            [sys.executable, "-c", _KILLED, self.store.path, SESSION], check=False
        )
        assert killed.returncode < 0

    def counted(self, before: Callable[[], None]) -> dict[str, float]:
        before()
        io = self.store.files.io.copy()
        self.open()
        found = self.store.files.io.since(io)
        active = os.path.getsize(f"{self.store.path}/{SESSION}/events.ndjson")
        counts = {"opens": found["opens"], "KB read": found["bytes_read"] / 1e3}
        return counts | {"KB of active part": active / 1e3}


def rows(plan: Plan) -> Iterator[Row]:
    with ExitStack() as stack:
        openers = {
            records: _Opener(stack.enter_context(seeding.copied(plan, "graph", records)), stack)
            for records in plan.sizes
        }
        yield from _rows("open", openers, _Opener.close, plan.rounds)
        yield from _rows("open after kill -9", openers, _Opener.kill, plan.rounds_few)


def _rows(
    what: str, openers: dict[int, _Opener], before: Callable[[_Opener], None], rounds: int
) -> Iterator[Row]:
    """Against the smallest history; the sizes take turns."""
    cases = [
        Case(str(records), one.open, lambda one=one: before(one))
        for records, one in openers.items()
    ]
    spent = interleaved(cases, rounds)
    smallest = min(openers)
    for records, one in openers.items():
        yield Row(
            what,
            records,
            spent[str(records)],
            f"{smallest:,} records",
            spent[str(smallest)],
            TARGET if records > smallest else None,
            facts=one.counted(lambda one=one: before(one)),
        )
