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


class Graphs:
    """Graph sessions in a folder of the test's own."""

    def __init__(self, folder):
        self.store = Folder(Files(), str(folder))

    def create(self, name="s", **parameters):
        identity.create(self.store, name, GRAPH, parameters=parameters)
        return name

    @contextmanager
    def open(self, name="s", assigner=None):
        with Writer(self.store, name, GRAPH, level="fast") as writer:
            yield GraphSession(writer, assigner=assigner)

    @contextmanager
    def new(self, name="s", assigner=None, **parameters):
        self.create(name, **parameters)
        with self.open(name, assigner) as session:
            yield session

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


@pytest.fixture
def make():
    """Builders of payloads."""

    class Make:
        pass

    for builder in (variable, evidence, search, failure, payload):
        setattr(Make, builder.__name__, staticmethod(builder))
    return Make
