import orjson
import pytest

import varvite
from varvite.adapters.pi_log import PiLog
from varvite.session.reader import Reader
from varvite.testing import mixed


@pytest.fixture
def store(tmp_path):
    return varvite.open(tmp_path / "store")


@pytest.fixture(scope="session")
def fresh(tmp_path_factory):
    """The mixed store, never compacted. To be read alone."""
    store = varvite.open(tmp_path_factory.mktemp("fresh"))
    mixed.fill(store)
    return store


@pytest.fixture(scope="session")
def layered(tmp_path_factory):
    """The mixed store in several segments a stream, and some of it in the journals, with a job's receipt.

    To be read alone.
    """
    store = varvite.open(tmp_path_factory.mktemp("layered"))
    mixed.fill(store)
    store.compact()
    for turn in range(3):
        node = {"stream": "nodes", "id": f"late{turn}", "node_kind": "variable", "score": turn}
        mixed.append(store, "odd", [node, {"stream": "weather", "turn": turn}])
        if turn < 2:
            store.compact()
    store.checkpoint("promote-all", "search")
    return store


@pytest.fixture(scope="session")
def journal():
    """Reads a session's records from its journal in plain Python: (cursor, records) a batch."""

    def read(store, session_id):
        with store._folder() as folder, Reader(folder, session_id) as reader:
            return [
                (batch.commit.last, [orjson.loads(line) for line in batch.lines()])
                for batch in reader.batches()
            ]

    return read


class RealLogs:
    """The real pi logs, each imported into a store of its own, and all into one."""

    def __init__(self, files, folder):
        self._folder = folder
        self._files = {file.stem.lower().replace(".", "-"): file for file in files}
        self.names = sorted(self._files)

    def alone(self, name):
        return self._store(name, [name])

    def together(self):
        return self._store("together", self.names)

    def _store(self, folder, names):
        made = (self._folder / folder).exists()
        store = varvite.open(self._folder / folder)
        for name in [] if made else names:
            with store.experiment(name, create=True, level="fast") as session:
                session.import_log(PiLog(self._files[name]))
        return store


@pytest.fixture(scope="session")
def real_logs(shared, tmp_path_factory):
    files = (shared / "data" / "experiments" / "autoresearch").glob("*.jsonl")
    return RealLogs(sorted(files), tmp_path_factory.mktemp("logs"))
