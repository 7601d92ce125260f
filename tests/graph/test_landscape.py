"""What a hit is known by, and what becomes of one that is known."""

import pytest

from varvite.errors import MalformedInputError
from varvite.graph import fold, landscape, landscape_index, payloads


def kinds(records):
    return [node["node_kind"] for node in records["nodes"]]


def test_a_new_hit_is_a_node_in_its_paper_with_a_first_sighting(graphs, make):
    paper = {"id": "1", "doi": "10.1/x", "en_title": "T", "authors": "A", "keywords": ""}
    given = make.payload(make.search(make.variable("gcn_1"), papers={"paper:1": paper}))

    with graphs.new() as session:
        receipt = session.submit([given], query="why")

    records = graphs.records()
    response, paper, node = records["responses"][0], *records["nodes"]
    (edge,), (sighting,), (call,) = records["edges"], records["sightings"], records["frontier"]
    assert receipt.counts | {"hits": 1, "new": 1, "papers": 1, "edges": 1} == receipt.counts
    assert paper["source_key"] == paper["paper_key"] == "lkm:bohrium:paper:1"
    assert (paper["doi"], paper["title"], paper["metadata"]) == ("10.1/x", "T", {"authors": "A"})
    assert node["source_key"] == "lkm:bohrium:variable:gcn_1"
    assert (node["paper_key"], node["first_query"]) == (paper["paper_key"], "why")
    assert (edge["src"], edge["dst"], edge["edge_kind"]) == (node["id"], paper["id"], "in_paper")
    assert (sighting["node_id"], sighting["count"], sighting["best_rank"]) == (node["id"], 1, 1)
    assert sighting["query"] == call["request"]["text"] == response["query"] == "why"
    assert (call["status"], call["hits"], call["new_nodes"]) == ("done", 1, 1)
    assert {one["response_id"] for one in (node, edge, sighting, call)} == {response["id"]}


def test_a_repeat_is_a_sighting_with_the_count_and_the_best_rank_so_far(graphs, make):
    other = make.variable("gcn_2")
    one = make.variable("gcn_1")
    with graphs.new() as session:
        session.submit([make.payload(make.search(other, one), "a")])
        receipt = session.submit([make.payload(make.search(one, other, one), "b")])

    records = graphs.records()
    assert len(records["nodes"]) == 3
    assert (receipt.new, receipt.seen) == (0, 3)
    assert [(one["rank"], one["count"], one["best_rank"]) for one in records["sightings"]] == [
        (1, 1, 1),
        (2, 1, 2),
        (1, 2, 1),
        (2, 2, 1),
        (3, 3, 1),
    ]


def test_a_node_that_a_chain_named_gets_a_revision_when_it_is_first_a_hit(graphs, make):
    with graphs.new() as session:
        first = session.submit([make.payload(make.evidence("gcn_1", "gcn_2"), "a")])
        second = session.submit([make.payload(make.search(make.variable("gcn_2", role="r")), "b")])

    records = graphs.records()
    revisions = [node for node in records["nodes"] if node.get("source_key", "").endswith("gcn_2")]
    assert (first.counts["named"], first.counts["factors"], first.new) == (2, 1, 0)
    assert (second.new, second.counts["named"], second.counts["papers"]) == (1, 0, 0)
    assert [node["rev"] for node in revisions] == [0, 1]
    assert "paper_key" not in revisions[0]
    assert (revisions[1]["role"], revisions[1]["paper_key"]) == ("r", "lkm:bohrium:paper:1")
    assert [one["count"] for one in records["sightings"]] == [1]


def test_what_one_place_of_a_response_does_not_tell_of_a_node_another_does(graphs, make):
    graph = {"nodes": [{"id": "paper:2::P1", "global_id": "gcn_9", "type": "claim"}], "edges": []}
    given = make.evidence("gcn_9", "gcn_2")
    given["data"]["reasoning_chains"] = [{"graph": graph}]
    with graphs.new() as session:
        session.submit([make.payload(given)])

    nodes = graphs.records()["nodes"]
    (found,) = [one for one in nodes if one.get("source_key") == "lkm:bohrium:variable:gcn_9"]
    assert (found["content"], found["variable_type"]) == ("what gcn_9 says", "claim")
    assert found["paper_key"] == "lkm:bohrium:paper:2"


def test_a_premise_leads_to_its_factor_and_the_factor_to_the_conclusion(graphs, make):
    with graphs.new() as session:
        session.submit([make.payload(make.evidence("gcn_1", "gcn_2", "gcn_3"))])

    keys = {one["id"]: one["source_key"].split(":", 2)[2] for one in graphs.records()["nodes"]}
    edges = [
        (keys[edge["src"]], edge["edge_kind"], keys[edge["dst"]], edge["origin"])
        for edge in graphs.records()["edges"]
    ]
    assert edges == [
        ("factor:gfac_1", "in_paper", "paper:1", "retrieval"),
        ("variable:gcn_2", "premise_of", "factor:gfac_1", "chain"),
        ("variable:gcn_3", "premise_of", "factor:gfac_1", "chain"),
        ("factor:gfac_1", "concludes", "variable:gcn_1", "chain"),
    ]


def test_an_edge_is_written_once_however_often_it_comes(graphs, make):
    with graphs.new() as session:
        session.submit([make.payload(make.evidence("gcn_1", "gcn_2"), "a")])
        again = session.submit(
            [make.payload(make.evidence("gcn_1", "gcn_2"), name) for name in ("b", "c")]
        )

    assert len(graphs.records()["edges"]) == 3
    assert again.counts | {"edges": 0, "named": 0, "factors": 0, "responses": 2} == again.counts


def test_both_shapes_of_a_chain_make_the_same_nodes_and_edges(graphs, make):
    nodes = [
        {"id": "paper:1::P1", "global_id": "gcn_2", "type": "claim", "content": "what gcn_2 says"},
        {
            "id": "gfac_1",
            "type": "factor",
            "factor_type": "strategy",
            "subtype": "noisy_and",
            "steps": [{"reasoning": "because"}],
        },
        {"id": "gcn_1", "type": "claim", "content": "what gcn_1 says"},
    ]
    links = [
        {"source": "paper:1::P1", "target": "gfac_1", "type": "weakpoint"},
        {"source": "gfac_1", "target": "gcn_1", "type": "concludes"},
    ]
    chain = {"source_package": "paper:1", "graph": {"nodes": nodes, "edges": links}}
    with graphs.new("old") as session:
        session.submit([make.payload(make.evidence("gcn_1", "gcn_2"))])
    with graphs.new("new") as session:
        session.submit([make.payload({"code": 0, "data": {"reasoning_chains": [chain]}})])

    old, new = graphs.latest("nodes", "old"), graphs.latest("nodes", "new")
    chain_edges = [
        {one["id"] for one in graphs.records(name)["edges"] if one["origin"] == "chain"}
        for name in ("old", "new")
    ]
    assert set(old) == set(new)
    assert chain_edges[0] == chain_edges[1]


def test_an_edge_of_another_kind_keeps_the_providers_word(graphs, make):
    nodes = [
        {"id": "paper:1::Q", "type": "question", "content": "why"},
        {"id": "gfac_1", "type": "factor"},
    ]
    links = [{"source": "paper:1::Q", "target": "gfac_1", "type": "subproblem_of"}]
    chain = {"graph": {"nodes": nodes, "edges": links}}

    with graphs.new() as session:
        session.submit([make.payload({"code": 0, "data": {"reasoning_chains": [chain]}})])

    edges = graphs.records()["edges"]
    assert [edge["edge_kind"] for edge in edges] == ["in_paper", "subproblem_of"]


def test_a_hit_that_turns_up_in_another_paper_gets_an_edge_to_it_once(graphs, make):
    def at(name, package):
        return make.payload(make.search(make.variable("gcn_1", package=package)), name)

    with graphs.new() as session:
        session.submit([at("a", "paper:1"), at("b", "paper:2"), at("c", "paper:1")])
        session.submit([at("d", "paper:2")])

    records = graphs.records()
    assert [edge["edge_kind"] for edge in records["edges"]] == ["in_paper", "in_paper"]
    assert kinds(records) == ["variable", "paper", "paper"]
    assert [one["paper_keys"][0][-1] for one in records["sightings"]] == ["1", "2", "1", "2"]


def test_a_paper_known_by_its_key_alone_is_revised_when_its_title_comes(graphs, make):
    bare = make.payload(make.search(make.variable("gcn_1")), "a")
    told = make.payload(make.search(papers={"paper:1": {"id": "1", "en_title": "T"}}), "b")
    again = make.payload(make.search(papers={"paper:1": {"id": "1", "en_title": "U"}}), "c")

    with graphs.new() as session:
        receipts = [session.submit([one]) for one in (bare, told, again)]

    papers = [node for node in graphs.records()["nodes"] if node["node_kind"] == "paper"]
    assert [(paper["rev"], paper.get("title")) for paper in papers] == [(0, None), (1, "T")]
    assert [receipt.counts["papers"] for receipt in receipts] == [1, 0, 0]


def hits(*given, name="h", **fields):
    return payloads.from_hits(list(given), file=name, **fields)


def test_a_normalised_hit_keeps_what_its_shape_promises(graphs):
    given = {
        "source_key": "arxiv:1:c",
        "variable_type": "question",
        "role": "premise",
        "title": "t",
        "content": "c",
        "content_hash": "h",
        "score": 2,
        "bucket_ids": ["b"],
        "metadata": {"year": 2026},
    }
    paper = {"key": "arxiv:1", "doi": "10.1/x", "title": "T"}
    with graphs.new() as session:
        session.open_bucket("b", bucket_id="b")
        session.submit([hits(given | {"rank": 9, "paper": paper}, query="why")])

    records = graphs.records()
    paper_node, node = records["nodes"]
    assert node.items() >= (given | {"first_query": "why", "paper_key": "arxiv:1"}).items()
    assert (paper_node["source_key"], paper_node["title"]) == ("arxiv:1", "T")
    assert [one["rank"] for one in records["sightings"]] == [9]


def test_a_hit_without_a_key_is_known_by_its_content(graphs, make):
    sourced = make.payload(make.search(make.variable("gcn_1")), "a")
    same = {"content": "what gcn_1 says"}
    with graphs.new() as session:
        first = session.submit([sourced, hits(same, {"content": "else"})])
        second = session.submit([hits(same, {"content": "else"}, name="again")])

    counts = [(one.new, one.seen) for one in (first, second)]
    assert counts == [(2, 1), (0, 2)]


def test_a_hit_is_known_by_its_package_ref_where_its_key_is_new(graphs):
    ref = "ns:pkg::claim"
    with graphs.new() as session:
        receipts = [
            session.submit([one])
            for one in (
                hits({"id": "a", "package_ref": ref, "content": "x"}, name="1"),
                hits({"id": "b", "package_ref": ref, "content": "x"}, name="2"),
                hits({"id": "b", "content": "x"}, name="3"),
                hits({"package_ref": ref}, name="4"),
            )
        ]
        read = session._writer.index.get

        owner = read(landscape_index.PACKAGE_REF, ref)
        assert read(landscape_index.SEEN_SOURCE, "lkm:bohrium:variable:b") == owner
    assert [(one.new, one.seen) for one in receipts] == [(1, 0), (0, 1), (0, 1), (0, 1)]
    assert [one["count"] for one in graphs.records()["sightings"]] == [1, 2, 3, 4]


def test_a_package_ref_that_comes_later_leads_to_the_node_too(graphs):
    ref = "ns:pkg::claim"
    plain, with_ref = {"id": "a", "content": "x"}, {"id": "a", "package_ref": ref}
    with graphs.new() as session:
        for number, one in enumerate((plain, with_ref, {"package_ref": ref})):
            session.submit([hits(one, name=str(number))])

    records = graphs.records()
    assert len(records["nodes"]) == 1
    assert [one.get("package_ref") for one in records["sightings"]] == [None, ref, None]


@pytest.mark.parametrize("batches", [1, 5])
def test_dedupe_is_the_same_within_a_batch_and_over_batches(graphs, batches):
    ref = "ns:pkg::claim"
    given = [
        hits({"id": "a", "content": "x"}, name="1"),
        hits({"content": "x"}, name="2"),
        hits({"id": "a", "package_ref": ref, "content": "x"}, name="3"),
        hits({"id": "b", "package_ref": ref}, name="4"),
        hits({"id": "b"}, {"content": "x"}, {"package_ref": ref}, name="5"),
    ]
    with graphs.new() as session:
        for start in range(0, 5, 5 // batches):
            session.submit(given[start : start + 5 // batches])

    records = graphs.records()
    assert len(records["nodes"]) == 1
    assert [one["count"] for one in records["sightings"]] == [1, 2, 3, 4, 5, 6, 7]


def test_indexes_of_providers_do_not_mix(graphs, make):
    value = make.search(make.variable("gcn_1"))
    with graphs.new() as session:
        session.submit([make.payload(value, "a"), make.payload(value, "b", index_id="local")])

    assert sorted(kinds(graphs.records())) == ["paper", "paper", "variable", "variable"]


def test_a_failed_call_is_a_frontier_record_with_its_code(graphs, make):
    with graphs.new() as session:
        receipt = session.submit([make.payload(make.failure(290004), "a")])

    (call,) = graphs.records()["frontier"]
    assert receipt.failed == 1
    assert (call["status"], call["code"], call["message"]) == (
        "failed",
        290004,
        "deadline exceeded",
    )
    assert kinds(graphs.records()) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"error": "deadline exceeded"}, "deadline exceeded"),
        ({"error": None, "message": "busy"}, "busy"),
        ({"error": ""}, None),
        ({"error": {"msg": None}}, None),
        ({}, None),
    ],
)
def test_a_failed_call_is_kept_however_little_is_said_of_it(graphs, make, fields, message):
    with graphs.new() as session:
        session.submit([make.payload({"code": 502} | fields)])

    (call,) = graphs.records()["frontier"]
    assert (call["status"], call["code"], call.get("message")) == ("failed", 502, message)


@pytest.mark.parametrize("apart", [True, False])
def test_a_retry_names_the_call_it_repeats_and_counts_the_attempts(graphs, make, apart):
    given = [
        make.payload(make.failure(), "r_003_x.json"),
        make.payload(make.failure(290011), "r_003r_x_retry.json"),
        make.payload(make.search(), "r_003r_x_retry2.json"),
    ]
    with graphs.new() as session:
        for batch in [[one] for one in given] if apart else [given]:
            session.submit(batch)

    calls = graphs.records()["frontier"]
    assert [call["attempt"] for call in calls] == [1, 2, 3]
    assert [call.get("retry_of") for call in calls] == [None, calls[0]["id"], calls[1]["id"]]
    assert {call["dedup_key"] for call in calls} == {"r_003_x.json"}


@pytest.mark.parametrize("named_by", ["label", "id"])
def test_a_retry_may_name_its_call_itself(graphs, make, named_by):
    with graphs.new() as session:
        session.submit([make.payload(make.failure(), "a")])
        first = graphs.records()["frontier"][0]
        name = first["id"] if named_by == "id" else "a"
        session.submit([make.payload(make.search(), "other", retry_of=name)])

    second = graphs.records()["frontier"][1]
    assert (second["retry_of"], second["dedup_key"]) == (first["id"], "a")


def test_a_retry_of_an_unknown_call_is_refused(graphs, make):
    with graphs.new() as session, pytest.raises(MalformedInputError) as caught:
        session.submit([make.payload(make.search(), retry_of="gone")])

    assert caught.value.path == "$.retry_of"


def test_the_same_text_under_another_label_is_another_response(graphs, make):
    value = make.search(make.variable("gcn_1"))
    with graphs.new() as session:
        receipt = session.submit(
            [make.payload(value, "a"), make.payload(value, "b"), make.payload(value, "a")]
        )

    assert (receipt.new, receipt.seen, receipt.repeated) == (1, 1, 1)


def test_unknown_fields_stay_in_the_raw_text_and_around_it(graphs, make):
    value = make.search(make.variable("gcn_1", novelty={"x": [1]}), later="field")
    given = make.payload(value, envelope={"note": 1})

    with graphs.new() as session:
        session.submit([given])

    (response,) = graphs.records()["responses"]
    assert response["raw"] == given.raw
    assert response["envelope"] == {"note": 1}


def test_every_index_of_the_table_is_named_with_a_stream_that_the_session_has():
    names = {table.name for table in fold.TABLES}

    assert names >= {"seen_source", "paper", "package_ref", "node", "bucket_membership"}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("together", [True, False])
def test_a_node_is_in_the_paper_of_a_chain_too_whichever_came_first(graphs, make, order, together):
    found = {"nodes": [{"id": "paper:2::P1", "global_id": "gcn_1", "type": "claim"}], "edges": []}
    chain = {"code": 0, "data": {"reasoning_chains": [{"graph": found}]}}
    given = [
        make.payload(make.search(make.variable("gcn_1", package="paper:1")), "hit"),
        make.payload(chain, "chain"),
        make.payload(chain, "again"),
    ]
    ordered = [given[one] for one in order] + given[2:]
    with graphs.new() as session:
        for batch in [ordered] if together else [[one] for one in ordered]:
            session.submit(batch)

    nodes = graphs.latest("nodes")
    edges = [(nodes[one["src"]], nodes[one["dst"]]) for one in graphs.records()["edges"]]
    assert sorted((one["source_key"], paper["paper_key"]) for one, paper in edges) == [
        ("lkm:bohrium:variable:gcn_1", f"lkm:bohrium:paper:{number}") for number in (1, 2)
    ]


def test_a_node_that_a_chain_placed_in_its_paper_has_one_edge_to_it(graphs, make):
    nodes = [{"id": "paper:1::P1", "global_id": "gcn_1", "type": "claim", "content": "x"}]
    chain = {"graph": {"nodes": nodes, "edges": []}}
    with graphs.new() as session:
        session.submit([make.payload({"code": 0, "data": {"reasoning_chains": [chain]}}, "a")])
        session.submit([make.payload(make.search(make.variable("gcn_1")), "b")])

    assert [edge["edge_kind"] for edge in graphs.records()["edges"]] == ["in_paper"]


def test_a_hit_is_in_each_of_its_papers_and_shows_the_representative_one(graphs, make):
    hit = make.variable("gcn_1", package="paper:2")
    hit["provenance"]["source_packages"] = ["paper:1", "paper:2", "paper:3"]

    with graphs.new() as session:
        session.submit([make.payload(make.search(hit))])

    records = graphs.records()
    names = {node["id"]: node["source_key"][-1] for node in records["nodes"]}
    assert [names[edge["dst"]] for edge in records["edges"]] == ["2", "1", "3"]
    assert records["nodes"][0]["paper_key"] == "lkm:bohrium:paper:2"


def test_the_list_of_papers_tells_more_than_a_hit_does(graphs, make):
    hit = make.variable("gcn_1", paper={"en_title": "short"})
    papers = {"paper:1": {"id": "1", "en_title": "long", "doi": "10.1/x"}}

    with graphs.new() as session:
        session.submit([make.payload(make.search(hit, papers=papers))])

    (paper,) = [node for node in graphs.records()["nodes"] if node["node_kind"] == "paper"]
    assert (paper["title"], paper["doi"]) == ("long", "10.1/x")


def test_a_later_revision_of_a_node_keeps_its_sightings(graphs, make):
    given = [make.payload(make.search(make.variable("gcn_1")), name) for name in "ab"]
    with graphs.new() as session:
        session.submit(given[:1])
        node = graphs.records()["nodes"][0]
        revised = {"stream": "nodes", "id": node["id"], "node_kind": "variable"}
        session._writer.append([revised | {"projection": "applied"}])
        session.submit(given[1:])

    assert [one["count"] for one in graphs.records()["sightings"]] == [1, 2]


class Reads:
    """An index that counts what it is asked, by table."""

    def __init__(self, read):
        self._read, self.asked = read, []

    def __call__(self, table, key):
        self.asked.append(table)
        return self._read(table, key)


def test_a_hit_costs_one_lookup_where_it_is_known_and_two_where_it_is_new(graphs, make):
    known = [make.variable(f"gcn_{number}") for number in range(30)]
    new = [make.variable(f"gcn_{number}") for number in range(100, 130)]
    with graphs.new() as session:
        session.submit([make.payload(make.search(*known), "a")])
        reads = Reads(session.look)
        landscape.plan([make.payload(make.search(*known, *new), "b")], reads)

    counts = {table: reads.asked.count(table) for table in set(reads.asked)}
    assert counts == {
        "record": 1,  # the response
        landscape_index.NODE: 60,
        landscape_index.SEEN_SOURCE: 30,
        landscape_index.PAPER: 1,
        landscape_index.TOTAL: 1,
    }
