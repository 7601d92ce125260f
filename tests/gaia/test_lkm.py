"""Gaia's own LKM client against a provider on the loopback."""

import json

import pytest
from gaia_making import relation, source_bytes
from gaia_provider import BUSY, GRAPH, SEARCH, provider

import varvite
from varvite.gaia.live.faults import Fault
from varvite.gaia.worker import Worker
from varvite.graph.payloads import Payload
from varvite.graph.port import Source

__all__ = ["provider"]


@pytest.fixture
def worker(gaia_python, provider, package):
    made = Worker(gaia_python, owner="s1", timeout_s=60)
    made.open_package(str(package))
    yield made
    made.close()


def search(worker, query):
    return worker.fetch("local", "POST", "/search", body={"query": query})


def test_a_search_through_the_real_client_is_what_the_provider_said(worker, provider):
    assert search(worker, "floating") == SEARCH
    assert [(path, body, key) for path, body, key in provider.asked] == [
        ("/search", {"query": "floating"}, "none")
    ]


def test_what_the_provider_reports_is_an_answer_that_a_session_keeps_and_retries(worker, tmp_path):
    failed, found = search(worker, "busy"), search(worker, "floating")
    store = varvite.open(tmp_path / "store")

    with store.graph("s1", create=True) as session:
        first = session.submit([Payload(json.dumps(failed), "call-1", query="floating")])
        second = session.submit(
            [Payload(json.dumps(found), "call-2", query="floating", retry_of="call-1")]
        )

    rows = store.sql("select code, status, attempt from frontier order by seq").rows()
    assert failed == BUSY
    assert (first.failed, second.new) == (1, 4)
    assert rows == [(290001, "failed", 1), (0, "done", 2)]


@pytest.mark.parametrize(
    ("query", "code", "retryable"),
    [
        ("slow", "lkm_transport", True),
        ("broken", "lkm_transport", True),
        ("forbidden", "lkm_permission", False),
    ],
)
def test_a_call_that_brings_no_answer_is_a_fault(worker, query, code, retryable):
    with pytest.raises(Fault) as caught:
        search(worker, query)

    assert (caught.value.code, caught.value.retryable) == (code, retryable)


def test_an_index_that_nobody_configured_and_a_paper_that_is_not_there(worker):
    with pytest.raises(Fault) as unknown:
        worker.fetch("nowhere", "POST", "/search", body={})
    with pytest.raises(Fault) as absent:
        worker.fetch("local", "POST", "/papers/graph", body={"paper_id": "p9"})

    assert (unknown.value.code, absent.value.code) == ("lkm_index_unknown", "lkm_not_found")


def test_a_paper_becomes_a_source_package_through_gaias_own_materialiser(worker, package, gaia):
    payload = json.dumps(worker.fetch("local", "POST", "/papers/graph", body={"paper_id": "p1"}))

    source = Source("paper_1", "paper", "local", "p1", payload)
    made = worker.materialise(source)
    before = source_bytes(package)
    again = worker.materialise(source)
    after = source_bytes(package)
    refs = made.result["refs"]
    written = worker.write_candidates([relation(1, refs.values(), "contradict")])

    assert json.loads(payload) == GRAPH
    assert made.failure is None
    assert (made.already, again.already, after) == (False, True, before)
    assert set(refs) == {"gcn_00000000000000aa", "gcn_00000000000000bb"}
    assert made.result["source_ref"] == "lkm:local:paper:p1"
    assert written[0].failure is None
    assert "workspace" not in (package / "pyproject.toml").read_text()
    assert gaia("build", "check", str(package)).returncode == 0


def test_a_payload_that_is_no_paper_is_refused(worker):
    made = worker.materialise(Source("paper_1", "paper", "local", "p1", '{"code": 0}'))
    chain = worker.materialise(Source("variable_1", "chain", "local", "g1", '{"code": 0}'))

    assert [one.failure.code for one in (made, chain)] == ["payload_refused", "payload_refused"]
