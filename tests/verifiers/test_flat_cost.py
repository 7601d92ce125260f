"""Opening, submitting, status, listing and polling cost the same whatever the history.

Counted in files and bytes, inside the process and outside it; never timed.
"""

import re
import sys
from collections import Counter

import pytest

from varvite.bench.counting import counted
from varvite.disk.files import Files, Folder
from varvite.samples import search
from varvite.session.reader import Reader
from varvite.store import Store
from varvite.testing import growing, watching
from varvite.testing.faulty import ReadSpy

SESSION = "long"
SIZES = [
    pytest.param((1_000, 20_000), id="20k"),
    pytest.param((10_000, 1_000_000), id="1m", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
]
LAST_BATCH_RESPONSES = 40
"""The same end for every history, longer than what is read of a part to find its header."""

DIGITS_BYTES = 512
"""By which a file of numbers may differ, for having longer ones."""

INDEX_FILES_MAX = 40

OPERATIONS = ("open", "submit", "status", "list", "poll")


@pytest.fixture(scope="module", params=SIZES)
def histories(request, tmp_path_factory):
    """A short and a long session, each in a store of its own."""
    stores = []
    for records in request.param:
        store = Store(str(tmp_path_factory.mktemp(f"history-{records}")))
        growing.graph(store, SESSION, records)
        with store.graph(SESSION) as session:
            session.submit(_payloads(seed=2, count=LAST_BATCH_RESPONSES))
        stores.append(store.path)
    return stores


def _payloads(seed, count):
    made = search.responses(seed, 10**9)
    return [next(made).payload() for _ in range(count)]


class Operations:
    """Each operation by its name, on a store that may be watched; `seed` makes its input new."""

    def __init__(self, path, files, seed):
        self.store, self.seed = Store(path, files=files), seed

    def open(self):
        self.store.graph(SESSION).close()

    def submit(self):
        with self.store.graph(SESSION) as session:
            return session.submit(_payloads(self.seed, 3))

    def status(self):
        return self.store.session(SESSION)

    def list(self):
        return self.store.sessions()

    def poll(self):
        with Folder(self.store.files, self.store.path) as folder, Reader(folder, SESSION) as reader:
            with Store(self.store.path).graph(SESSION) as session:
                session.submit(_payloads(self.seed, 3))
            return reader.poll()


def _named(counter):
    """Counts under names in which no process, no serial and no table has a number."""
    found = Counter()
    for path, count in counter.items():
        found[re.sub(r"\.\d+-\d+\.tmp$", ".tmp", path)] += count
    return found


def _alike(short, long):
    """Whether the same files were read, and as much of each."""
    return short.keys() == long.keys() and all(
        abs(long[path] - size) <= DIGITS_BYTES + size // 20 for path, size in short.items()
    )


@pytest.mark.parametrize("operation", OPERATIONS)
def test_inside_it_reads_the_same_files_bytes_and_keys(histories, operation):
    seen = []

    for path in histories:
        spy = ReadSpy(path)
        getattr(Operations(path, spy, seed=100 + OPERATIONS.index(operation)), operation)()
        seen.append((_named(spy.opened), _named(spy.bytes_by_path), spy.io.keys))

    short, long = seen
    assert short[0] == long[0]
    assert _alike(short[1], long[1])
    assert short[2] == long[2]
    assert not [path for path in long[1] if watching.is_history(path)]


_SCRIPT = """
import sys
from varvite.disk.files import Files
sys.path.insert(0, sys.argv[1])
from test_flat_cost import Operations
getattr(Operations(sys.argv[2], Files(), int(sys.argv[4])), sys.argv[3])()
"""


@pytest.mark.skipif(not watching.can_trace(), reason="strace is not there, or may not be used")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_outside_it_opens_no_history_and_reads_a_page_of_index_a_key(histories, operation):
    seed = 200 + 2 * OPERATIONS.index(operation)
    here = __file__.rpartition("/")[0]
    inside = Operations(histories[0], Files(), seed)
    keys = counted(inside.store.files, getattr(inside, operation)).keys

    short, long = (
        watching.trace([sys.executable, "-c", _SCRIPT, here, path, operation, str(seed + 1)], path)
        for path in histories
    )

    assert f"{SESSION}/session.json" in _read(long)
    assert _outside(short).keys() == _outside(long).keys()
    assert _alike(_read(short), _read(long))
    assert not [path for path in _read(long) if watching.is_history(path)]
    assert not [
        path for path in _outside(long) if watching.is_history(path) and _only_read(long, path)
    ]
    allowed = keys * watching.PAGES_BYTES + _tables(long) * watching.TABLE_BYTES
    assert _index(long.caller.read) <= _index(short.caller.read) + allowed
    assert _index_files(long) <= INDEX_FILES_MAX


def _outside(trace):
    """Files opened other than the index's, by any thread."""
    found = _named(trace.caller.opened + trace.threads.opened)
    return {path: count for path, count in found.items() if "/index/" not in path}


def _read(trace):
    found = _named(trace.caller.read + trace.threads.read)
    return {path: size for path, size in found.items() if "/index/" not in path}


def _only_read(trace, path):
    kinds = trace.caller.access.get(path, set()) | trace.threads.access.get(path, set())
    return kinds == {"O_RDONLY"}


def _tables(trace):
    return len([path for path in trace.caller.read if path.endswith(".sst")])


def _index_files(trace):
    return len([path for path in trace.caller.opened if "/index/" in path])


def _index(read):
    return sum(size for path, size in read.items() if "/index/" in path)
