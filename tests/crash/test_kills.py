"""A process that opens and appends, killed by SIGKILL wherever it is."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.trial import reopened, values

NURSERY = """
import os, sys

import rocksdict
import varvite.records.contracts
from varvite.testing import notes

def grow(path, level, number):
    held = notes.writer(notes.store(path), level=level, seal_bytes=40_000)
    while True:
        text = f"{number} " + "x" * (number * 997 % 9_000)
        held.append([notes.note(text), notes.note(text, stream="other")], key=str(number))
        os.write(1, b"%d\\n" % number)
        number += 1

for line in sys.stdin:
    path, level, first = line.split()
    pid = os.fork()
    if pid == 0:
        grow(path, level, int(first))
    os.write(1, b"pid %d\\n" % pid)
    os.waitpid(pid, 0)
    os.write(1, b"dead\\n")
"""


class Nursery:
    """Starts a writer in a fresh process at a fork's price."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", NURSERY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def grow(self, path, first, delay_s, level, *, opened):
        """Append from number `first` on until the kill; the last acknowledged number.

        The delay runs from the first acknowledgement where `opened`, else from the fork.
        """
        self.process.stdin.write(f"{path} {level} {first}\n")
        said = [self.process.stdout.readline()]
        while not any(line.startswith("pid") for line in said):
            said.append(self.process.stdout.readline())
        pid = next(int(line.split()[1]) for line in said if line.startswith("pid"))
        while opened and not any(line[0].isdigit() for line in said):
            said.append(self.process.stdout.readline())
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        while said[-1] != "dead\n":
            said.append(self.process.stdout.readline())
        return max((int(line) for line in said if line[0].isdigit()), default=first - 1)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def nursery():
    nursery = Nursery()
    yield nursery
    nursery.close()


def kills(nursery, path, number, level):
    rng = random.Random(7)
    notes.store(path).close()
    first = 0
    for turn in range(number):
        opened = turn % 2 == 0
        last = nursery.grow(path, first, rng.random() * 0.02, level, opened=opened)
        with notes.store(path) as store, Reader(store, "s") as reader:
            seen = reader.cursor
        found = [int(text.split()[0]) for text in values(path)]
        assert found == list(range(len(found)))
        assert last < len(found) <= last + 2
        assert seen == 2 * len(found)
        assert last >= first or not opened
        first = len(found)
    assert reopened(path) == [f"{n} " + "x" * (n * 997 % 9_000) for n in range(first)]
    return first


@pytest.mark.parametrize("level", ["durable", "group", "fast"])
def test_a_killed_writer_leaves_what_it_acknowledged_and_at_most_one_batch_more(
    nursery, tmp_path, level
):
    assert kills(nursery, str(tmp_path / "store"), 20, level) > 20


@pytest.mark.slow
@pytest.mark.parametrize("level", ["durable", "group", "fast"])
def test_two_hundred_kills_lose_nothing(nursery, tmp_path, level):
    assert kills(nursery, str(tmp_path / "store"), 200, level) > 200
