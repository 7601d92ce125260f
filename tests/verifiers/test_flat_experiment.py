"""Resume, append, a hook's append and a brief cost the same whatever the history of runs.

Counted in files and bytes, inside the process and outside it; beside them what a reading
of a whole log reads.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import pi_reading

from varvite.bench.counting import counted
from varvite.store import Store
from varvite.testing import growing, watching
from varvite.testing.faulty import ReadSpy

SESSION = "long"
SIZES = [
    pytest.param((200, 2_000), id="2k"),
    pytest.param(
        (200, 10_000, 100_000), id="100k", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]
    ),
]
LAST_BATCH_RUNS = 150
"""The same end for every history, longer than what a brief tells."""

DIGITS_BYTES = 2048
"""By which what is read may differ: numbers have more digits."""

RUN = {"type": "run", "status": "keep", "metric": 1.5, "payload": {"code": "c", "change": "x"}}


def resume(store):
    with store.experiment(SESSION) as session:
        return session.state(), session.segment(), session.best()


def append(store):
    with store.experiment(SESSION) as session:
        return session.append_record(RUN)


def hook(store):
    with store.experiment(SESSION) as session:
        return session.append_record({"type": "hook", "payload": {"exit_code": 0}})


def brief(store):
    with store.experiment(SESSION) as session:
        return session.brief()


OPERATIONS = {one.__name__: one for one in (resume, append, hook, brief)}


@pytest.fixture(scope="module", params=SIZES)
def histories(request, tmp_path_factory):
    """Sessions of so many runs, each in a store of its own, all with the same end."""
    paths = []
    for runs in request.param:
        store = Store(str(tmp_path_factory.mktemp(f"runs-{runs}")))
        growing.experiment(store, SESSION, runs)
        with store.experiment(SESSION) as session:
            session.append_records(list(growing.runs(2, LAST_BATCH_RUNS)))
        paths.append(store.path)
    return paths


@pytest.mark.parametrize("operation", OPERATIONS)
def test_inside_it_reads_the_same_files_bytes_and_keys(histories, operation):
    seen = []

    for path in histories:
        spy = ReadSpy(path)
        OPERATIONS[operation](Store(path, files=spy))
        seen.append((set(spy.opened), spy.bytes_by_path.total(), spy.io.keys))
        assert not [one for one in spy.bytes_by_path if watching.is_history(one)]

    files, read, keys = zip(*seen, strict=True)
    assert len(set(map(len, files))) == 1
    assert max(read) - min(read) <= DIGITS_BYTES
    assert len(set(keys)) == 1


_SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from test_flat_experiment import OPERATIONS
from varvite.bench.counting import counted
from varvite.store import Store
store, operation = Store(sys.argv[2]), OPERATIONS[sys.argv[3]]
operation(store)  # what it imports is read
counts = counted(store.files, lambda: operation(store))
print(counts.bytes_read_outside, counts.bytes_read_all)
"""


def outside(path, operation):
    """Bytes that an operation's thread reads, and its process, by the system's own count.

    Other threads are the index's own, which may be tidying up after the history.
    """
    here = Path(__file__).parent
    found = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(here), path, operation],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(here.parents[1])},
    )
    return tuple(map(int, found.stdout.split()))


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="the system does not count")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_outside_it_reads_a_page_of_index_a_key_and_no_history(histories, operation, tmp_path):
    store = Store(histories[0])
    keys = counted(store.files, lambda: OPERATIONS[operation](store)).keys
    log = tmp_path / "log.jsonl"

    (first, _), *others = (outside(path, operation) for path in histories)
    tables = max(len(list(Path(path, SESSION, "index").glob("*.sst"))) for path in histories)
    allowed = keys * watching.PAGES_BYTES + tables * watching.TABLE_BYTES
    runs = Store(histories[-1]).session(SESSION)["counts"]["records"]
    pi_reading.write(log, list(growing.runs(1, runs)))

    assert max(mine for mine, _ in others) <= first + allowed
    assert max(whole for _, whole in others) < log.stat().st_size / 4
    assert len(pi_reading.resume(log)["runs"]) == runs
