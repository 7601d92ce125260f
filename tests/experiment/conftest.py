import functools
import json
import subprocess
from pathlib import Path

import pytest

from varvite.adapters import pi_log
from varvite.adapters.lines import LineSplitter
from varvite.adapters.pi_line import as_pi
from varvite.disk.files import Files, Folder
from varvite.experiment import ledger
from varvite.experiment.git_command import LOCK
from varvite.experiment.placing import Place
from varvite.experiment.session import EXPERIMENT, ExperimentSession
from varvite.experiment.states import States
from varvite.session import identity
from varvite.session.writer import Writer

VECTORS = Path(__file__).parents[2].parent / "shared/data/experiments/experiment_vectors.json"


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "vectors(group, by=None): once a vector; by: not the test that shows the group"
    )


@functools.cache
def read_vectors():
    """The vectors by group; none where the folder of real data is not there."""
    return json.loads(VECTORS.read_text()) if VECTORS.exists() else {}


def pytest_generate_tests(metafunc):
    """Give a test the vectors of its group, whichever the file has."""
    mark = metafunc.definition.get_closest_marker("vectors")
    if mark is None:
        return
    vectors = read_vectors().get(mark.args[0], [])
    skip = pytest.mark.skip("no folder of real data beside the checkout")
    given = vectors or [pytest.param(None, marks=skip)]
    names = [vector["id"] for vector in vectors] or ["none"]
    metafunc.parametrize("vector", given, ids=names)


@pytest.fixture(scope="session")
def known_vectors(shared):
    return read_vectors()


@pytest.fixture(scope="session")
def vectors(shared):
    """All vectors by id."""
    groups = (group for name, group in read_vectors().items() if name != "_meta")
    return {vector["id"]: vector for group in groups for vector in group}


class DictLedger:
    """The fold over a dict: what a session's index holds, without a session."""

    def __init__(self):
        self.index = {}
        self.seq = 0

    def read(self, table, key):
        return self.index.get((table, key))

    def apply(self, record):
        self.seq += 1
        envelope = {"seq": self.seq, "id": f"r{self.seq}", "at": "2026-01-01T00:00:00.000000Z"}
        states = States(self.read)
        step = ledger.FOLDS.get((record["stream"], str(record.get("type"))))
        if step:
            step(envelope | record, states)
        self.index |= {(table, key): value for table, key, value in states.entries()}

    def add(self, record):
        self.apply(Place(self.state()).stamp({"stream": "records"} | record))

    def state(self):
        return ledger.session_state(self.read)

    def segment(self, number):
        empty = ledger.SegmentState(number, self.state().definition)
        return ledger.segment_state(self.read, number) or empty

    def current(self):
        return self.segment(self.state().segment)

    def kept(self):
        return list(ledger.kept(self.read))


class Repository:
    def __init__(self, path):
        self.path = path
        path.mkdir()
        self("init", "-q", "-b", "main")
        self("config", "user.email", "a@example.org")
        self("config", "user.name", "A")
        self.base = self.commit("readme", "start")

    def __call__(self, *words):
        command = ["git", *words]
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, name, text):
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)
        self("add", name)
        self("commit", "-q", "-m", f"change {name}")
        return self("rev-parse", "HEAD")

    def files(self):
        """The work tree, byte for byte."""
        found = (path for path in self.path.rglob("*") if ".git" not in path.parts)
        return {str(path): path.read_bytes() for path in found if path.is_file()}

    def state(self):
        """All that a failure must leave as it was: work tree, index, HEAD, refs and their logs."""
        folder = self.path / ".git"
        kept = (path for path in folder.rglob("*") if "objects" not in path.parts)
        own = {str(path): path.read_bytes() for path in kept if path.is_file()}
        own.pop(str(folder / LOCK), None)
        return self.files(), own

    def branches(self, under="refs/heads"):
        return self("for-each-ref", "--format=%(refname:short)", under).split()


@pytest.fixture
def make_repository(tmp_path):
    """Makes a repository of a name with one commit, on branch main."""
    return lambda name: Repository(tmp_path / name)


@pytest.fixture
def repository(make_repository):
    return make_repository("work")


@pytest.fixture(scope="session")
def dict_ledger():
    return DictLedger


@pytest.fixture
def pi_records():
    """The records of a pi log, given as chunks of bytes."""

    def records(chunks, *, closed=False):
        batches = pi_log.read(chunks, LineSplitter("log.jsonl"), closed=closed)
        return [record for batch in batches for record in batch.records]

    return records


@pytest.fixture
def pi_reading(pi_records):
    """The records of a pi log as pi reads them."""

    def reading(data):
        found = pi_records([data], closed=True)
        return [as_pi(record) for record in found if record["stream"] == "records"]

    return reading


@pytest.fixture
def open_session(tmp_path):
    """Opens the session of a name, made where it is missing; all are closed at the end."""
    store = Folder(Files(), str(tmp_path))
    opened = []

    def open_one(name="sort-speed", **options):
        if store.stat(name) is None:
            identity.create(store, name, EXPERIMENT, parameters={})
        writer = Writer(store, name, EXPERIMENT, **options)
        opened.append(writer)
        return ExperimentSession(writer)

    yield open_one
    for writer in opened:
        writer.close()
    store.close()
