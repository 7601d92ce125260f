import json
from collections import defaultdict
from contextlib import contextmanager

import orjson
import pytest

from varvite.disk.files import Files, Folder
from varvite.graph.payloads import Payload
from varvite.graph.session import GRAPH, GraphSession
from varvite.session import identity
from varvite.session.reader import Reader
from varvite.session.writer import Writer
from varvite.store import Store
from varvite.testing.memory import memory_path


class Graphs:
    """Graph sessions in a folder of the test's own."""

    def __init__(self, folder):
        self.store = Folder(Files(), str(folder))

    def create(self, name="s", **parameters):
        identity.create(self.store, name, GRAPH, parameters=parameters)
        return name

    @contextmanager
    def open(self, name="s", assigner=None, gaia=None):
        with Writer(self.store, name, GRAPH, level="fast") as writer:
            yield GraphSession(writer, assigner=assigner, gaia=gaia)

    @contextmanager
    def new(self, name="s", assigner=None, gaia=None, **parameters):
        self.create(name, **parameters)
        with self.open(name, assigner, gaia) as session:
            yield session

    def sql(self, query, params=None):
        return Store(self.store.path).sql(query, params)

    def records(self, name="s"):
        """All records by stream, in the order of seq."""
        streams = defaultdict(list)
        with Reader(self.store, name) as reader:
            for batch in reader.batches():
                for line in batch.lines():
                    record = orjson.loads(line)
                    streams[record["stream"]].append(record)
        return streams

    def latest(self, stream, name="s"):
        return {record["id"]: record for record in self.records(name)[stream]}


@pytest.fixture
def tmp_path():
    """In memory: these tests open hundreds of sessions."""
    with memory_path() as path:
        yield path


@pytest.fixture
def graphs(tmp_path):
    return Graphs(tmp_path)


def variable(provider_id, **fields):
    package = fields.pop("package", "paper:1")
    return {
        "id": provider_id,
        "type": "claim",
        "content": f"what {provider_id} says",
        "score": 0.5,
        "provenance": {
            "representative_lcn": {"package_id": package, "local_id": f"{package}::P1"},
            "source_packages": [package],
        },
    } | fields


def evidence(claim, *premises, factor="gfac_1", package="paper:1"):
    chain = {
        "source_package": package,
        "factors": [
            {
                "id": factor,
                "factor_type": "strategy",
                "subtype": "noisy_and",
                "premises": [{"id": one, "content": f"what {one} says"} for one in premises],
                "conclusion": {"id": claim, "content": f"what {claim} says"},
                "steps": [{"step_id": "1", "reasoning": "because"}],
            }
        ],
    }
    data = {"claim": {"id": claim}, "evidence_chains": [chain], "papers": {}}
    return {"code": 0, "data": data, "trace_id": "t"}


def search(*variables, papers=None, **fields):
    data = {"variables": list(variables), "papers": papers or {}}
    return {"code": 0, "data": data, "trace_id": "t"} | fields


def failure(code=290001):
    return {"code": code, "error": {"msg": "deadline exceeded"}, "trace_id": "t"}


def payload(value, file="a.json", **fields):
    return Payload(json.dumps(value), file, **fields)


def hits(*names, buckets=("b",), file=None, **fields):
    """Normalised hits of these ids, claims in the buckets named."""
    made = [
        {"id": name, "variable_type": "claim", "content": f"what {name} says"}
        | {"bucket_ids": list(buckets)}
        | fields
        for name in names
    ]
    return payload({"query": "q", "hits": made}, file or "+".join(names))


def relation(*claims, **fields):
    """A draft that opposes the first of two claims to the second."""
    made = {"type": "opposes", "claim": "they cannot both be true"}
    return made | {"source_refs": list(claims[:1]), "claim_refs": list(claims)} | fields


class Reads:
    """How many values of the index a piece of work asks for, its commit included.

    Without `state.json`, which is written by the clock.
    """

    def __init__(self, session):
        session._writer._state_due = float("inf")
        self._index = session._writer.index
        self._get, self._get_many = self._index.get, self._index.get_many
        self.count = 0

    def __enter__(self):
        self._index.get, self._index.get_many = self._one, self._many
        return self

    def __exit__(self, *_):
        self._index.get, self._index.get_many = self._get, self._get_many

    def _one(self, table, key):
        self.count += 1
        return self._get(table, key)

    def _many(self, keys):
        self.count += len(keys)
        return self._get_many(keys)


@pytest.fixture
def reads():
    return Reads


@pytest.fixture
def field(graphs, make):
    """A session with one bucket, `b`, and three claims in it: a packet waits."""
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2", "gcn_3")])
        yield session


@pytest.fixture
def make():
    """Builders of payloads."""

    class Make:
        pass

    for builder in (variable, evidence, search, failure, payload, hits, relation):
        setattr(Make, builder.__name__, staticmethod(builder))
    return Make
