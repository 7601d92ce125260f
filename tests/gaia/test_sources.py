"""Papers and chains that a session accepted, through Gaia's own materialiser."""

import json

import pytest
from gaia_making import source_bytes
from gaia_provider import provider
from test_whole_session import CutError, CutPort, opposing

import varvite
from varvite.graph import payloads
from varvite.graph.payloads import Payload

__all__ = ["provider"]

ROWS = "select id, source_key, projection, package_ref from nodes where package_ref is not null"


@pytest.fixture
def store(package):
    return varvite.open(package / ".gaia/research/sessions")


def asked(port, session, paper_id):
    """Ask the provider for a paper's graph, and submit what it said."""
    answer = port.fetch("local", "POST", "/papers/graph", body={"paper_id": paper_id})
    return session.submit([Payload(json.dumps(answer), f"paper-{paper_id}", index_id="local")])


def paper_of(store):
    ((own,),) = store.sql("select id from nodes where node_kind = 'paper'").rows()
    return own


def test_a_paper_that_was_asked_for_is_added_and_its_refs_are_on_the_nodes(
    gaia_python, provider, package, store, gaia
):
    from varvite.gaia.worker import Worker

    port = Worker(gaia_python, owner="paper", timeout_s=120)  # it inherits the provider's address
    port.open_package(str(package))
    with store.graph("paper", create=True, gaia=port) as session:
        session.open_bucket("Floating", bucket_id="b", terms=["density floats"])
        asked(port, session, "p1")
        session.submit([again("gcn_00000000000000aa", "gcn_00000000000000bb")])
        (packet,) = session.packets()
        session.accept([paper_of(store)])
        session.project()
        session.assess(packet, opposing(packet))
        drained = session.project(check=True)
    port.close()

    (name,) = [one.name for one in (package / ".gaia/lkm_packages").iterdir() if "lkm" in one.name]
    refs = {row[1]: row[2:] for row in store.sql(ROWS).rows()}
    module = name.removesuffix("-gaia").replace("-", "_")
    project = (package / "pyproject.toml").read_text()
    assert (drained.failed, drained.left) == (0, 0)
    assert refs["lkm:local:paper:p1"] == ("applied", name)
    for claim, symbol in (("aa", "h1"), ("bb", "c1")):
        key = f"lkm:local:variable:gcn_00000000000000{claim}"
        assert refs[key] == ("applied", f"lkm:{module}::{symbol}")
    assert f'{name} = {{ path = ".gaia/lkm_packages/{name}", editable = true }}' in project
    assert gaia("build", "check", str(package)).returncode == 0
    assert store.sql("select kind, state from projections order by seq").rows() == [
        ("materialise", "applied"),
        ("candidate", "verified"),
    ]


def again(*names):
    hits = [{"id": one, "bucket_ids": ["b"], "variable_type": "claim"} for one in names]
    text = json.dumps({"query": "floating", "index": "local", "hits": hits})
    return Payload(text, "again", index_id="local")


@pytest.fixture
def chains(shared):
    """Real answers with chains, the first of each claim."""
    found = {}
    for one in payloads.in_file(str(shared / "data/gaia/twodheg__lkm_payloads.ndjson")):
        data = json.loads(one.raw).get("data") or {}
        if data.get("evidence_chains"):
            found.setdefault(data["claim"]["id"], one)
    return list(found.values())


def claims(store):
    rows = store.sql("select distinct unnest(source_ids) from frontier").rows()
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    "count",
    [3, pytest.param(26, marks=[pytest.mark.slow, pytest.mark.timeout(900)])],
)
def test_the_chains_of_a_real_session_become_packages_that_build(
    port, package, store, chains, count
):
    port.owner = "real"
    with store.graph("real", create=True, gaia=port) as session:
        for one in chains[:count]:
            session.submit([one])
        session.accept(claims(store), chains=True)
        drained = session.project()
        before = lying(package)
        again = session.accept(claims(store), chains=True)
    port.owner = "s1"

    made = sorted((package / ".gaia/lkm_packages").iterdir())
    graphs = [json.loads((one / ".gaia/ir.json").read_text()) for one in made]
    known = {one["id"] for graph in graphs for one in graph["knowledges"]}
    refs = [row[0] for row in store.sql(f"select package_ref from ({ROWS})").rows()]
    assert len(claims(store)) == count == len(made)
    assert (drained.applied, drained.failed, drained.left) == (count, 0, 0)
    assert set(refs) <= known
    assert len(refs) >= 2 * count
    assert (again, lying(package)) == ([], before)


def test_a_source_that_gaia_made_and_nobody_recorded_is_found_and_not_made_again(
    port, package, store, chains
):
    port.owner = "cut"
    with store.graph("cut", create=True, gaia=port) as session:
        session.submit(chains[:1])
        session.accept(claims(store), chains=True)
    with store.graph("cut", gaia=CutPort(port, "materialise")) as session, pytest.raises(CutError):
        session.project()
    begun = store.sql("select kind from projections where state = 'applying'").rows()
    before = lying(package)
    with store.graph("cut", gaia=port) as session:
        drained = session.project()
    port.owner = "s1"

    assert begun == [("materialise",)]
    assert (drained.applied, drained.failed, drained.left) == (1, 0, 0)
    assert lying(package) == before
    assert store.sql(f"select count(*) > 1 from ({ROWS})").rows() == [(True,)]


def lying(package):
    """What lies in the package, but for the session itself."""
    found = source_bytes(package)
    return {name: found[name] for name in found if not name.startswith(".gaia/research/")}


def test_an_answer_that_gaia_cannot_take_fails_for_good_and_another_may_follow(
    port, package, store
):
    claims = [{"id": "H1", "type": "claim", "content": "Density is below one."}]
    port.owner = "bad"
    found = []
    with store.graph("bad", create=True, gaia=port) as session:
        for label, nodes in (("bare", []), ("whole", claims)):
            paper = {"paper": {"id": "p1"}, "graph": {"nodes": nodes, "edges": []}}
            text = json.dumps({"code": 0, "data": {"papers": [paper]}})
            session.submit([Payload(text, label, index_id="local")])
            planned = session.accept([paper_of(store)])
            found.append((len(planned), session.project().codes))
    port.owner = "s1"

    rows = store.sql("select state, retryable from projections order by seq").rows()
    (ref,) = store.sql("select package_ref from nodes where node_kind = 'variable'").rows()[0]
    assert found == [(1, {"payload_refused": 1}), (1, {})]
    assert rows == [("failed", False), ("applied", None)]
    assert ref.endswith("::h1")
