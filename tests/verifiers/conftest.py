import json
import shutil
import sys
from pathlib import Path

import pytest

from varvite.graph.payloads import Payload
from varvite.store import Store
from varvite.testing.memory import memory_path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "gaia"))

from gaia_environments import VERSION, Cli, make  # noqa: E402


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == Path(__file__).parent and "gaia" in item.fixturenames:
            item.add_marker(pytest.mark.gaia)


@pytest.fixture(scope="session")
def gaia_python():
    return make(f"gaia-{VERSION}", f"gaia-lang=={VERSION}")


@pytest.fixture(scope="session")
def gaia(gaia_python):
    """The real command line of Gaia."""
    return Cli(gaia_python)


@pytest.fixture
def package(gaia, tmp_path):
    """A package that the real command line made."""
    root = tmp_path / "field-gaia"
    made = gaia("pkg", "scaffold", "--target", str(root), "--name", "field-gaia")
    assert made.returncode == 0, made.stderr
    return root


@pytest.fixture
def port(gaia_python, package):
    """The real port to that package."""
    from varvite.gaia.worker import Worker

    worker = Worker(gaia_python, owner="s", timeout_s=120)
    worker.open_package(str(package))
    yield worker
    worker.close()


@pytest.fixture
def tmp_path():
    """In memory: bytes are counted here, and times are not."""
    with memory_path() as path:
        yield path


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


class Making:
    """What a test gives a session, and how it reads what became of it."""

    @staticmethod
    def hits(*names, buckets=("b",), **fields):
        made = [
            {"id": name, "variable_type": "claim", "content": f"The exponent of {name} is one."}
            | {"bucket_ids": list(buckets), "rank": rank}
            | fields
            for rank, name in enumerate(names, 1)
        ]
        text = json.dumps({"query": "exponents", "hits": made})
        return Payload(text, "+".join(names))

    @staticmethod
    def relation(*claims, **fields):
        made = {"type": "opposes", "claim": "They cannot both be true."}
        made |= {"source_refs": list(claims[:1]), "claim_refs": list(claims)}
        return made | {"promotion_hint": "contradict", "rationale": "They differ."} | fields


@pytest.fixture
def making():
    return Making


@pytest.fixture
def field(store, making):
    """A session with one bucket and three claims in it, and no Gaia."""
    with store.graph("s", create=True) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([making.hits("gcn_1", "gcn_2", "gcn_3")])
        yield session


@pytest.fixture
def projecting(store, making, port):
    """The same with real Gaia, and a candidate that waits in the outbox."""
    with store.graph("s", create=True, gaia=port) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([making.hits("gcn_1", "gcn_2", "gcn_3")])
        session.assess(session.packets()[0], [making.relation("gcn_1", "gcn_2")])
        yield session


@pytest.fixture(scope="module")
def grown():
    """Copies of sessions with so many records and twenty buckets; each is grown once."""
    made = set()
    with memory_path() as root:

        def copy(records, folder):
            if records not in made:
                _grow(Store(str(root / str(records))), records)
                made.add(records)
            return shutil.copytree(root / str(records), folder)

        yield copy


def _grow(store, records):
    """A history, and then the same last steps whatever its length."""
    from varvite.testing import growing

    with store.graph("s", create=True, level="fast") as session:
        for number in range(20):
            session.open_bucket(f"field number {number}", bucket_id=f"b{number}")
    growing.graph(store, "s", records)
    with store.graph("s", level="fast") as session:
        for round_ in range(40):
            names = [f"gcn_{round_}_{n}" for n in range(10)]
            session.submit([Making.hits(*names, buckets=[f"b{round_ % 20}"], score=0.1)])
