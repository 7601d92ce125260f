"""Papers and chains on their way into source packages of Gaia."""

import pytest

from varvite.errors import CorruptError, RecordNotFoundError
from varvite.graph import outbox, raw
from varvite.graph.port import Failure
from varvite.store import Store
from varvite.testing.recording import CrashError, RecordingGaia


def paper(paper_id="7", *claims, **fields):
    nodes = [{"id": f"paper:{paper_id}::P{n}", "global_id": one, "type": "claim", "content": one}
             for n, one in enumerate(claims)]  # fmt: skip
    nodes.append({"id": "f1", "type": "factor", "steps": [{"reasoning": "so"}]})
    edges = [{"source": nodes[0]["id"], "target": "f1", "type": "premise_of"}]
    edges.append({"source": "f1", "target": nodes[-2]["id"], "type": "concludes"})
    told = {"id": paper_id, "en_title": f"Title {paper_id}"}
    return {"paper": told, "graph": {"nodes": nodes, "edges": edges}} | fields


def graph(*papers):
    return {"code": 0, "data": {"papers": list(papers)}, "trace_id": "t"}


@pytest.fixture
def gaia():
    return RecordingGaia()


@pytest.fixture
def session(graphs, gaia, make):
    """A paper with its graph, a claim with its chains, and a hit that is in the paper too."""
    with graphs.new(gaia=gaia) as session:
        session.submit([make.payload(graph(paper("7", "gcn_1", "gcn_2")), "p")])
        session.submit([make.payload(make.evidence("gcn_9", "gcn_2", "gcn_8"), "e")])
        session.submit([make.hits("gcn_1", buckets=[])])
        yield session


def node(graphs, name, kind="variable"):
    nodes = graphs.latest("nodes").values()
    return next(one for one in nodes if one.get("source_key") == f"lkm:bohrium:{kind}:{name}")


def node_id(graphs, name, kind="variable"):
    return node(graphs, name, kind)["id"]


def test_a_paper_graph_is_a_paper_its_claims_and_how_they_hang_together(graphs, session):
    own = node_id(graphs, "7", "paper")

    edges = {(one["edge_kind"], one["src"], one["dst"]) for one in graphs.latest("edges").values()}
    (call,) = [one for one in graphs.records()["frontier"] if one["item_kind"] == "paper"]
    factor = node_id(graphs, "paper:7::f1", "factor")
    first, last = node_id(graphs, "gcn_1"), node_id(graphs, "gcn_2")
    assert node(graphs, "7", "paper")["title"] == "Title 7"
    assert {("premise_of", first, factor), ("concludes", factor, last)} <= edges
    assert {("in_paper", one, own) for one in (first, last, factor)} <= edges
    assert call["source_ids"] == [own]


def test_local_ids_of_two_papers_are_two_things(graphs, make):
    local = {"nodes": [{"id": "H1", "type": "claim", "content": "one"}], "edges": []}
    with graphs.new() as session:
        session.submit(
            [make.payload(graph(paper("7", "x", graph=local), paper("8", "x", graph=local)))]
        )

    keys = {one["source_key"] for one in graphs.latest("nodes").values()}
    assert {"lkm:bohrium:variable:paper:7::H1", "lkm:bohrium:variable:paper:8::H1"} <= keys


def test_the_claim_of_chains_that_name_none_is_what_nothing_uses(graphs, make):
    nodes = [{"id": f"gcn_{n}", "type": "claim", "content": str(n)} for n in range(3)]
    nodes += [{"id": f"gfac_{n}", "type": "factor"} for n in range(2)]
    ways = [("gcn_0", "gfac_0"), ("gfac_0", "gcn_1"), ("gcn_1", "gfac_1"), ("gfac_1", "gcn_2")]
    edges = [
        {"source": one, "target": other, "type": "concludes" if "gfac" in one else "premise_of"}
        for one, other in ways
    ]
    chains = [{"source_package": "paper:1", "graph": {"nodes": nodes, "edges": edges}}]
    with graphs.new() as session:
        session.submit([make.payload({"code": 0, "data": {"reasoning_chains": chains}})])

    (call,) = graphs.records()["frontier"]
    assert call["source_ids"] == [node_id(graphs, "gcn_2")]


def test_chains_that_are_none_have_no_source(graphs, make):
    none = {"code": 0, "data": {"claim": {"id": "gcn_1"}, "evidence_chains": [], "papers": {}}}
    with graphs.new() as session:
        session.submit([make.payload(none)])
        with pytest.raises(RecordNotFoundError, match="no response has the chains"):
            session.accept([node_id(graphs, "gcn_1")], chains=True)

    assert "source_ids" not in graphs.records()["frontier"][0]


def test_a_paper_reaches_gaia_as_it_came_and_its_refs_are_on_the_nodes(graphs, session, gaia):
    own = node_id(graphs, "7", "paper")
    made = session.accept([own])
    drained = session.project()

    (response,) = [one for one in graphs.records()["responses"] if one["file"] == "p"]
    asked = gaia.made[f"paper {own}"]
    assert asked == ("paper_" + own[6:], "paper", "bohrium", "7", response["raw"])
    assert (len(made), drained.applied, drained.failed, drained.left) == (1, 1, 0, 0)
    assert node(graphs, "7", "paper")["package_ref"] == "source-7"
    for name in ("gcn_1", "gcn_2"):
        found = node(graphs, name)
        assert (found["package_ref"], found["projection"]) == (f"lkm:source-7::{name}", "applied")
        assert found["content"] == name or found["content"] == f"what {name} says"
        assert outbox.package_ref(session.look, found["id"]) == found["package_ref"]


def test_a_claim_goes_alone_or_with_its_chains(graphs, session, gaia):
    own = node_id(graphs, "gcn_9")
    session.accept([own], chains=True)
    session.project()
    session.accept([node_id(graphs, "gcn_8"), own])

    assert gaia.calls == ["materialise"]
    assert node(graphs, "gcn_8")["package_ref"] == "lkm:source-gcn_9::gcn_8"
    assert node(graphs, "gcn_9")["package_ref"] == "lkm:source-gcn_9::gcn_9"
    assert {one["kind"] for one in graphs.records()["projections"]} == {"materialise"}


def test_the_first_ref_of_a_node_stays(graphs, session, gaia):
    claim = node_id(graphs, "gcn_2")
    session.accept([claim])
    session.project()
    session.accept([node_id(graphs, "7", "paper")])
    session.accept([node_id(graphs, "gcn_9")], chains=True)
    session.project()

    assert node(graphs, "gcn_2")["package_ref"] == f"field:s-1::{claim}"
    assert outbox.package_ref(session.look, claim) == f"field:s-1::{claim}"


def test_what_came_first_as_a_whole_keeps_its_ref_when_its_shard_comes_later(graphs, session, gaia):
    claim = node_id(graphs, "gcn_2")
    gaia.failures[claim] = Failure("uv_missing", "no uv", retryable=True)
    session.accept([claim, node_id(graphs, "7", "paper")])
    session.project()
    gaia.failures.clear()
    session.project()

    assert node(graphs, "gcn_2")["package_ref"] == "lkm:source-7::gcn_2"
    assert outbox.package_ref(session.look, claim) == "lkm:source-7::gcn_2"


def test_a_source_is_planned_once_and_again_only_by_another_response_after_it_failed(
    graphs, session, gaia, make
):
    own = node_id(graphs, "7", "paper")
    gaia.failures[f"paper {own}"] = Failure("payload_refused", "no graph")
    first = session.accept([own])
    again = session.accept([own, own])
    session.project()
    failed = session.accept([own])
    session.submit([make.payload(graph(paper("7", "gcn_1", "gcn_3")), "better")])
    gaia.failures.clear()
    mended = session.accept([own])
    session.project()
    session.submit([make.payload(graph(paper("7", "gcn_1", "gcn_4")), "best")])

    assert [len(one) for one in (first, again, failed, mended)] == [1, 0, 0, 1]
    assert session.accept([own]) == []
    assert node(graphs, "gcn_3")["package_ref"] == "lkm:source-7::gcn_3"


def test_a_failure_that_may_pass_leaves_the_source_to_be_tried_again(graphs, session, gaia):
    own = node_id(graphs, "7", "paper")
    gaia.failures[f"paper {own}"] = Failure("uv_missing", "no uv", retryable=True)
    session.accept([own])
    failed = session.project()
    gaia.failures.clear()
    tried = session.project()

    assert (failed.codes, failed.left) == ({"uv_missing": 1}, 1)
    assert (tried.applied, tried.left) == (1, 0)


def test_what_a_crash_cut_off_is_found_and_recorded(graphs, session, gaia):
    own = node_id(graphs, "7", "paper")
    session.accept([own])
    gaia.crash_at = "materialise"
    with pytest.raises(CrashError):
        session.project()
    begun = outbox.begun(session.look)

    drained = session.project()

    assert len(begun) == 1
    assert (drained.applied, outbox.begun(session.look)) == (1, [])
    assert node(graphs, "gcn_1")["package_ref"] == "lkm:source-7::gcn_1"


def test_a_paper_whose_graph_nobody_brought_is_refused_with_the_remedy(graphs, session):
    with pytest.raises(RecordNotFoundError) as caught:
        session.accept(["paper_none"])

    assert caught.value.hint == "ask for it, and submit the answer"
    assert graphs.records()["projections"] == []


def test_a_relation_between_claims_of_a_paper_follows_it_into_gaia(graphs, session, gaia, make):
    own = session.open_bucket("Scaling")
    session.submit([make.hits("gcn_1", "gcn_2", buckets=[own], file="named")])
    (packet,) = session.packets()
    session.accept([node_id(graphs, "7", "paper")])
    session.project()
    session.assess(packet, [make.relation("gcn_1", "gcn_2")])
    drained = session.project()

    (candidate,) = graphs.latest("candidates")
    assert drained.failed == 0
    assert gaia.made[candidate].claims == ("lkm:source-7::gcn_1", "lkm:source-7::gcn_2")


@pytest.fixture
def packet(session, make):
    """One of two claims that a paper has, and one that it has not."""
    own = session.open_bucket("Scaling")
    session.submit([make.hits("gcn_1", "gcn_2", "gcn_8", buckets=[own], file="named")])
    (packet,) = session.packets()
    return packet


def test_a_cited_claim_whose_paper_is_planned_comes_with_the_paper_alone(
    graphs, session, gaia, make, packet
):
    session.accept([node_id(graphs, "7", "paper")])
    session.assess(packet, [make.relation("gcn_1", "gcn_2"), make.relation("gcn_1", "gcn_8")])
    drained = session.project()

    related = {gaia.made[one].claims for one in graphs.latest("candidates")}
    other = node_id(graphs, "gcn_8")
    assert (drained.failed, drained.left) == (0, 0)
    assert gaia.shards == {"s-1": {other}}
    assert related == {
        ("lkm:source-7::gcn_1", "lkm:source-7::gcn_2"),
        ("lkm:source-7::gcn_1", f"field:s-1::{other}"),
    }


def test_a_cited_claim_whose_paper_gaia_refuses_goes_into_a_shard(
    graphs, session, gaia, make, packet
):
    own = node_id(graphs, "7", "paper")
    gaia.failures[f"paper {own}"] = Failure("payload_refused", "no graph")
    session.accept([own])
    session.assess(packet, [make.relation("gcn_1", "gcn_2")])
    drained = session.project()

    claims = [node_id(graphs, name) for name in ("gcn_1", "gcn_2")]
    (candidate,) = graphs.latest("candidates")
    assert (drained.applied, drained.codes) == (2, {"payload_refused": 1})
    assert gaia.shards == {"s-1": set(claims)}
    assert gaia.made[candidate].claims == tuple(f"field:s-1::{one}" for one in claims)


def test_the_raw_response_is_found_from_a_sighting(graphs, make):
    given = make.payload(make.search(make.variable("gcn_1", content="\u00e9\u20ac"))).raw
    with graphs.new() as session:
        session.submit([make.payload({}, "x")._replace(raw=given)])
        (sighting,) = graphs.records()["sightings"]
        found = session.response(sighting["response_id"])

    assert found["raw"] == given


def test_a_response_comes_back_from_a_part_that_is_sealed_and_archived(tmp_path, make):
    store = Store(str(tmp_path / "store"))
    given = [make.payload(make.evidence(f"gcn_{n}", "gcn_x"), f"{n}.json") for n in range(40)]
    with store.graph("s", create=True, seal_bytes=20_000) as session:
        for one in given:
            session.submit([one])
    names = store.sql("select response_id from frontier order by seq").rows()
    store.compact()
    packed = list((tmp_path / "store/s/journal").glob("*.zst"))
    with store.graph("s") as session:
        found = [session.response(name) for (name,) in names]

    assert packed
    assert [one["raw"] for one in found] == [one.raw for one in given]


def test_a_journal_that_has_not_what_the_index_says_is_damage(graphs, session):
    def read(table, key):
        stored = session.look(table, key)
        return stored[:8].replace(stored[:1], b"\x02", 1) + stored[8:] if stored else stored

    (name,) = [one["id"] for one in graphs.records()["responses"] if one["file"] == "p"]
    with pytest.raises(CorruptError):
        raw.response(session._writer.folder, name, read)
