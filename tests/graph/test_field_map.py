"""What a step does to the field map: who is assigned where, and what a bucket then says."""

import json
import shutil

import pytest

from varvite.errors import InputError, LimitError, MalformedInputError, StateConflictError
from varvite.graph import payloads
from varvite.graph.bucket import Bucket, Facts
from varvite.graph.membership import QUEUE_MAX
from varvite.session import faces
from varvite.session.rebuild import rebuild
from varvite.store import Store

TERMS = {
    "size": ["finite size error", "twist averaging", "thermodynamic limit"],
    "nodes": ["trial wave function", "nodal surface", "backflow"],
}
SIZE = "the finite size error is removed by twist averaging before the thermodynamic limit"
NODES = "backflow moves the nodal surface of the trial wave function"
BOTH = f"{SIZE}; {NODES}"
NEITHER = "honeycomb cores shear under load in sandwich panels of aircraft wings"


def hits(*found, name="a"):
    return payloads.from_hits(list(found), file=name)


def hit(name, content, **fields):
    return {"id": name, "content": content, "variable_type": "claim"} | fields


def open_both(session):
    for bucket_id, terms in TERMS.items():
        session.open_bucket(bucket_id, terms=terms, bucket_id=bucket_id)


@pytest.fixture
def place(graphs):
    """Submits hits, one batch for each list, to a session with two buckets."""

    def place(*batches, assigner=None, **parameters):
        with graphs.new(assigner=assigner, **parameters) as session:
            open_both(session)
            return [
                session.submit([hits(*batch, name=str(number))])
                for number, batch in enumerate(batches)
            ]

    return place


def stands(graphs, stream="memberships"):
    """The latest records by the provider's id of the node, or by bucket id."""
    if stream == "buckets":
        return graphs.latest("buckets")
    names = {
        node["id"]: node.get("source_key", "")[len("lkm:bohrium:variable:") :]
        for node in graphs.records()["nodes"]
    }
    return {names[one["node_id"]]: one for one in graphs.latest(stream).values()}


def test_a_node_goes_to_the_bucket_that_it_is_like(graphs, place):
    (receipt,) = place([hit("a", SIZE), hit("b", NODES), hit("c", NEITHER)])

    found = stands(graphs)
    assert [(found[one]["state"], found[one]["bucket_ids"]) for one in "abc"] == [
        ("assigned", ["size"]),
        ("assigned", ["nodes"]),
        ("new_bucket_candidate", []),
    ]
    assert found["a"]["methods"] == ["lexical"]
    counts = {name: receipt.counts[name] for name in ("assigned", "ambiguous", "candidates")}
    assert counts == {"assigned": 2, "ambiguous": 0, "candidates": 1}
    assert receipt.touched["buckets"] == ["size", "nodes"]


@pytest.mark.parametrize(("limit", "buckets"), [(1, 1), (2, 2), (3, 2)])
def test_a_node_goes_to_so_many_buckets_at_most_the_nearest_first(graphs, place, limit, buckets):
    place([hit("a", BOTH)], buckets_per_node=limit)

    member = stands(graphs)["a"]
    assert len(member["bucket_ids"]) == buckets
    assert member["scores"] == sorted(member["scores"], reverse=True)


def test_a_node_between_the_thresholds_is_ambiguous_and_counted_nowhere(graphs, place):
    (receipt,) = place([hit("a", SIZE)], assign_at=1.0, ambiguous_at=0.1)

    member = stands(graphs)["a"]
    assert (member["state"], member["bucket_ids"]) == ("ambiguous", ["size"])
    assert (receipt.counts["ambiguous"], receipt.touched["buckets"]) == (1, [])
    assert stands(graphs, "buckets")["size"]["nodes"] == 0


def test_buckets_that_are_named_come_before_likeness(graphs, place):
    place([hit("a", SIZE, bucket_ids=["nodes"])])

    member = stands(graphs)["a"]
    assert (member["bucket_ids"], member["methods"]) == (["nodes"], ["explicit"])


@pytest.mark.parametrize("cut", ["one batch", "two batches"])
def test_a_named_example_teaches_a_bucket_that_has_no_terms(graphs, cut):
    given = [
        hits(hit("a", NEITHER, bucket_ids=["x"]), name="1"),
        hits(hit("b", "sandwich panels: honeycomb cores shear"), name="2"),
    ]
    with graphs.new() as session:
        session.open_bucket("x", bucket_id="x")
        for batch in [given] if cut == "one batch" else [given[:1], given[1:]]:
            session.submit(batch)

    assert stands(graphs)["b"]["bucket_ids"] == ["x"]


def test_a_hit_that_names_a_bucket_that_is_not_open_is_refused_and_nothing_kept(graphs):
    with graphs.new() as session:
        for opened in (False, True):
            if opened:
                open_both(session)
            cursor = session.cursor
            with pytest.raises(MalformedInputError, match="'x', which is not open"):
                session.submit([hits(hit("a", SIZE, bucket_ids=["x"]))])

            assert session.cursor == cursor


def test_a_hit_that_names_too_many_buckets_is_refused(place):
    with pytest.raises(LimitError) as caught:
        place([hit("a", SIZE, bucket_ids=["size", "nodes"])], buckets_per_node=1)

    assert caught.value.limit == 1


def test_a_repeat_moves_no_count(graphs, place):
    first, again = place([hit("a", SIZE)], [hit("a", SIZE)])

    assert (first.touched["buckets"], again.touched["buckets"]) == (["size"], [])
    assert len(graphs.records()["memberships"]) == 1


def test_a_repeat_that_names_buckets_joins_them(graphs, place):
    place(
        [hit("a", SIZE)],
        [hit("a", SIZE, bucket_ids=["nodes"])],
        [hit("a", SIZE, bucket_ids=["nodes"])],
    )

    member = stands(graphs)["a"]
    assert (member["bucket_ids"], member["methods"]) == (["size", "nodes"], ["lexical", "explicit"])
    assert {one: bucket["nodes"] for one, bucket in stands(graphs, "buckets").items()} == {
        "size": 1,
        "nodes": 1,
    }
    assert member["rev"] == 1


def test_a_node_that_waits_is_settled_by_a_repeat_that_names_its_bucket(graphs, place):
    place([hit("a", NEITHER)], [hit("a", NEITHER, bucket_ids=["size"])])

    assert stands(graphs)["a"]["state"] == "assigned"
    assert field_map(graphs)["new_bucket_candidates"] == []


def test_a_node_that_is_ambiguous_leaves_what_it_may_be_in_for_what_is_named(graphs, place):
    place([hit("a", SIZE)], [hit("a", SIZE, bucket_ids=["nodes"])], assign_at=1.0, ambiguous_at=0.1)

    member = stands(graphs)["a"]
    assert (member["state"], member["bucket_ids"]) == ("assigned", ["nodes"])
    assert field_map(graphs)["ambiguous"] == []


def test_a_node_from_before_the_first_bucket_is_placed_once_it_is_named(graphs):
    with graphs.new() as session:
        session.submit([hits(hit("a", SIZE), name="1")])
        open_both(session)
        session.submit([hits(hit("a", SIZE), name="2")])
        assert graphs.records()["memberships"] == []
        session.submit([hits(hit("a", SIZE, bucket_ids=["size"]), name="3")])

    assert stands(graphs)["a"]["bucket_ids"] == ["size"]
    assert stands(graphs, "buckets")["size"]["claims"] == 1


def test_a_session_without_buckets_has_no_field_map(graphs):
    with graphs.new() as session:
        receipt = session.submit([hits(hit("a", SIZE))])

    assert not graphs.records().keys() & {"buckets", "memberships", "vocabulary"}
    assert receipt.touched["buckets"] == []
    assert field_map(graphs)["buckets"] == []


@pytest.mark.parametrize("apart", [False, True])
def test_a_node_that_chains_named_first_is_counted_by_its_first_hit(graphs, make, apart):
    named = make.evidence("gcn_9", "gcn_1")
    named["data"]["evidence_chains"][0]["factors"][0]["premises"][0]["content"] = SIZE
    seen = make.search(make.variable("gcn_1", content=SIZE, role="premise", package="paper:7"))
    given = [make.payload(named, "1"), make.payload(seen, "2")]
    with graphs.new() as session:
        open_both(session)
        for batch in [[one] for one in given] if apart else [given]:
            session.submit(batch)

    bucket = stands(graphs, "buckets")["size"]
    counts = {name: bucket[name] for name in ("nodes", "claims", "papers", "by_role")}
    assert counts == {"nodes": 1, "claims": 1, "papers": 1, "by_role": {"premise": 1}}
    assert stands(graphs)["gcn_1"]["paper_key"] == "lkm:bohrium:paper:7"


def test_a_bucket_counts_its_nodes_by_type_role_and_paper(graphs, place):
    place(
        [
            hit("a", SIZE, role="premise", paper={"id": "1"}),
            hit("b", SIZE, role="conclusion", paper={"id": "1"}),
            hit("c", SIZE, role="odd", variable_type="question", paper={"id": "2"}),
            hit("d", SIZE, variable_type="note"),
        ]
    )

    bucket = stands(graphs, "buckets")["size"]
    counts = {name: bucket[name] for name in ("nodes", "papers", "claims", "questions")}
    assert counts == {"nodes": 4, "papers": 2, "claims": 2, "questions": 1}
    assert bucket["by_role"] == {"premise": 1, "conclusion": 1, "other": 1}


def test_exemplars_are_the_nodes_most_like_the_bucket_and_the_earlier_of_equals(graphs, place):
    found = [hit(f"n{number}", SIZE + " word" * (number % 2)) for number in range(6)]
    for one in found:
        one["bucket_ids"] = ["size"]

    place(found, exemplars=4)

    members = stands(graphs)
    order = sorted(members.values(), key=lambda one: (-one["scores"][0], one["seq"]))
    expected = [{"node_id": one["node_id"], "score": one["scores"][0]} for one in order[:4]]
    assert stands(graphs, "buckets")["size"]["exemplars"] == expected


def test_of_equals_the_earlier_exemplar_comes_first():
    bucket = Bucket("b", "b")
    for node_id, score in (("a", 1), ("b", 2), ("c", 1), ("d", 2), ("e", 1)):
        bucket.take(node_id, Facts(), score, keep=4)

    assert bucket.exemplars == [("b", 2), ("d", 2), ("a", 1), ("c", 1)]


@pytest.mark.parametrize(
    ("nodes", "papers", "status"),
    [
        (0, 0, "missing"),
        (1, 1, "thin"),
        (1, 0, "thin"),
        (2, 2, "partial"),
        (3, 2, "partial"),
        (4, 1, "partial"),
        (4, 2, "covered"),
        (5, 5, "covered"),
    ],
)
def test_coverage_follows_from_nodes_and_papers(graphs, place, nodes, papers, status):
    found = [hit(f"n{number}", SIZE) for number in range(nodes)]
    for number in range(papers):
        found[number]["paper"] = {"id": str(number)}

    place(found, partial_nodes=2, covered_nodes=4, covered_papers=2)

    assert stands(graphs, "buckets")["size"]["coverage_status"] == status


def test_what_is_out_of_scope_is_neither_missing_nor_has_gaps(graphs):
    with graphs.new() as session:
        session.open_bucket("Shear", terms=["honeycomb"], role="out_of_scope", bucket_id="no")
        session.submit([hits(hit("a", NEITHER))])

    bucket = stands(graphs, "buckets")["no"]
    assert (bucket["nodes"], bucket["coverage_status"], bucket["open_gaps"]) == (
        1,
        "out_of_scope",
        [],
    )


def test_gaps_are_nodes_papers_and_terms_until_they_are_met(graphs, place):
    place(
        [hit("a", "finite size error after twist averaging", paper={"id": "1"})],
        [hit("b", SIZE, paper={"id": "2"})],
        covered_nodes=2,
        covered_papers=2,
    )

    opened, first, second = [
        one["open_gaps"] for one in graphs.records()["buckets"] if one["id"] == "size"
    ]
    wanted = [{"kind": kind, "have": 0, "want": 2} for kind in ("nodes", "papers")]
    assert opened == wanted + [{"kind": "term", "term": term} for term in TERMS["size"]]
    assert first == [one | {"have": 1} for one in wanted] + [
        {"kind": "term", "term": "thermodynamic limit"}
    ]
    assert second == []


def test_the_gaps_that_are_shown_are_bounded_and_the_terms_kept(graphs, place):
    place(open_gaps=1)

    bucket = stands(graphs, "buckets")["size"]
    assert bucket["open_gaps"] == [{"kind": "nodes", "have": 0, "want": 8}]
    assert bucket["unmet_terms"] == TERMS["size"]


def test_the_queue_keeps_the_newest_and_the_others_are_records(graphs, place):
    place([hit(f"n{number}", f"{NEITHER} {number}") for number in range(QUEUE_MAX + 3)])

    waiting = field_map(graphs)["new_bucket_candidates"]
    records = [one["node_id"] for one in graphs.records()["memberships"]]
    assert len(records) == QUEUE_MAX + 3
    assert waiting == records[-QUEUE_MAX:]


def controversies(graphs, session, given):
    """The buckets whose focus was touched for a controversy by this batch."""
    session.submit(given)
    focuses = graphs.records()["focuses"]
    return [one["bucket_ids"] for one in focuses if "controversy" in one["triggers"]]


@pytest.mark.parametrize("fields", [{"role": "opposes"}, {"metadata": {"channel": "conflict"}}])
def test_a_hit_that_speaks_against_something_is_a_controversy(graphs, fields):
    with graphs.new() as session:
        open_both(session)
        assert controversies(graphs, session, [hits(hit("a", SIZE, metadata={}))]) == []
        found = controversies(graphs, session, [hits(hit("b", SIZE, **fields), name="b")])

    assert found == [["size"]]


def test_an_edge_that_sets_nodes_against_each_other_is_a_controversy(graphs):
    nodes = [
        {"id": f"paper:1::{name}", "global_id": name, "type": "claim", "content": text}
        for name, text in (("a", SIZE), ("b", NODES))
    ]
    edge = {"source": nodes[0]["id"], "target": nodes[1]["id"], "type": "contradicts"}
    chain = {"graph": {"nodes": nodes, "edges": [edge]}}
    answer = {"code": 0, "data": {"reasoning_chains": [chain]}}
    with graphs.new() as session:
        open_both(session)
        session.submit([hits(hit("a", SIZE), hit("b", NODES))])
        found = controversies(graphs, session, [payloads.Payload(json.dumps(answer), "b")])

    assert found == [["size"], ["nodes"]]


def test_a_bucket_opened_again_with_the_same_meaning_adds_nothing(graphs):
    with graphs.new() as session:
        first = session.open_bucket("Finite size", terms=["error"])
        cursor = session.cursor
        again = session.open_bucket("Finite size", terms=["error"])

        assert (again, session.cursor) == (first, cursor)
        with pytest.raises(StateConflictError):
            session.open_bucket("Finite size", terms=["errors"])


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"label": ""}, "label"),
        ({"label": "x" * 201}, "label"),
        ({"terms": ["a", ""]}, "terms[1]"),
        ({"terms": ["x"] * 33}, "terms"),
        ({"criteria": "x" * 2001}, "criteria"),
        ({"role": 1}, "role"),
    ],
)
def test_a_bucket_out_of_bounds_is_refused_with_the_path(graphs, fields, path):
    with graphs.new() as session:
        with pytest.raises(InputError) as caught:
            session.open_bucket(**({"label": "x"} | fields))

        assert (caught.value.path, session.cursor) == (path, 0)


def test_a_bucket_is_found_by_its_criteria_too(graphs):
    with graphs.new() as session:
        session.open_bucket(
            "x", criteria="shear of honeycomb cores and sandwich panels", bucket_id="x"
        )
        session.submit([hits(hit("a", NEITHER))])

    assert stands(graphs)["a"]["bucket_ids"] == ["x"]


def field_map(graphs):
    return json.loads(graphs.store.folder("s").read("field_map.json"))


def test_the_file_shows_every_bucket_as_of_its_cursor(graphs, place):
    (receipt,) = place([hit("a", SIZE), hit("b", NEITHER)])

    shown = field_map(graphs)
    with graphs.open() as session:
        assert session.field_map().items() <= shown.items()
    size = stands(graphs, "buckets")["size"]
    assert shown["cursor"] == receipt.cursor
    assert [bucket["id"] for bucket in shown["buckets"]] == ["size", "nodes"]
    first = shown["buckets"][0]
    for name in ("label", "terms", "nodes", "exemplars", "coverage_status", "open_gaps"):
        assert first[name] == size[name]
    assert first["updated_seq"] == size["seq"]
    assert first["focus_ids"] == [
        one["id"] for one in graphs.latest("focuses").values() if one["bucket_ids"] == ["size"]
    ]


def test_the_file_may_lag_and_never_shows_more_or_less_than_its_cursor_says(graphs):
    with graphs.new() as session:
        open_both(session)
        for name in "abc":
            session.submit([hits(hit(name, SIZE), name=name)])
        shown, cursor = field_map(graphs), session.cursor

    records = [one for one in graphs.records()["buckets"] if one["seq"] <= shown["cursor"]]
    standing = {one["id"]: one["seq"] for one in records}
    assert shown["cursor"] <= cursor
    assert {one["id"]: one["updated_seq"] for one in shown["buckets"]} == standing


@pytest.fixture
def behind(graphs):
    """A session whose writer goes on, and its file behind."""
    with graphs.new() as session:
        open_both(session)
        session._writer._state_due = float("inf")
        session.submit([hits(hit("a", SIZE), name="a")])
        assert field_map(graphs)["cursor"] < session.cursor
        yield session


def test_a_compaction_writes_the_file_where_it_is_behind(graphs, behind):
    Store(graphs.store.path).compact()

    shown = field_map(graphs)
    assert shown["cursor"] == behind.cursor
    assert behind.field_map().items() <= shown.items()


def test_a_compaction_leaves_a_newer_file_of_the_writer_in_its_place(graphs, behind, monkeypatch):
    make = faces.made

    def outrun(kind, read):
        shown = make(kind, read)
        monkeypatch.setattr(faces, "made", make)
        behind.submit([hits(hit("b", SIZE), name="b")])
        behind._writer.write_state()
        return shown

    monkeypatch.setattr(faces, "made", outrun)
    Store(graphs.store.path).compact()

    assert field_map(graphs)["cursor"] == behind.cursor


def test_a_compaction_goes_on_where_there_is_no_index_to_show(graphs):
    with graphs.new() as session:
        open_both(session)
    shown = field_map(graphs)
    graphs.store.folder("s").remove("field_map.json")
    shutil.rmtree(f"{graphs.store.path}/s/index")

    made = Store(graphs.store.path).compact()

    assert made.rows == shown["cursor"]
    assert graphs.store.folder("s").stat("field_map.json") is None


def test_a_rebuild_makes_the_same_index_and_the_same_file(graphs, place):
    place(
        [hit("a", SIZE), hit("b", NEITHER)], [hit("c", BOTH), hit("b", NODES, bucket_ids=["nodes"])]
    )
    shown = field_map(graphs)
    with graphs.open() as session:
        kept, kind = dict(session._writer.index.items()), session._writer.kind
    graphs.store.folder("s").remove("field_map.json")

    rebuild(graphs.store, "s", kind)

    assert field_map(graphs) == shown
    with graphs.open() as session:
        assert dict(session._writer.index.items()) == kept


def test_a_key_used_twice_tells_again_what_was_touched(graphs):
    with graphs.new() as session:
        open_both(session)
        first = session.submit([hits(hit("a", SIZE))], key="k")
        again = session.submit([], key="k")

    assert again.replayed
    assert (again.touched, again.counts) == (first.touched, first.counts)


def by_letter(texts):
    """A vector by the first letter, in place of a model."""
    return [[float(text.strip()[:1] == letter) for letter in "sn"] for text in texts]


def test_a_callers_embedding_assigns_in_place_of_words(graphs, place):
    place([hit("a", "so much"), hit("b", "nothing"), hit("c", "other")], assigner=by_letter)

    found = stands(graphs)
    assert [(one["bucket_ids"], one["methods"]) for one in (found[name] for name in "abc")] == [
        (["size"], ["embedding"]),
        (["nodes"], ["embedding"]),
        ([], []),
    ]


def test_a_bucket_opened_by_words_is_known_to_an_embedding_once_it_is_named(graphs):
    with graphs.new() as session:
        open_both(session)
    with graphs.open(assigner=by_letter) as session:
        session.submit([hits(hit("a", "so much"), name="1")])
        session.submit([hits(hit("b", "so much", bucket_ids=["size"]), name="2")])
        session.submit([hits(hit("c", "so much"), name="3")])

    found = stands(graphs)
    assert [found[name]["bucket_ids"] for name in "abc"] == [[], ["size"], ["size"]]
