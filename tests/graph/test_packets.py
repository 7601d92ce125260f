import itertools

from varvite.graph import packets
from varvite.graph.parameters import Parameters


def node(name, score=0.5, content="text", **fields):
    made = {"id": f"variable_{name}", "node_kind": "variable", "variable_type": "claim"}
    return (
        made
        | {"source_key": f"lkm:x:variable:{name}", "score": score}
        | {"content": content}
        | fields
    )


def shown(window):
    return [one["id"] for one in window.evidence]


def window(refs, texts, nodes, **parameters):
    return packets.window(refs, texts, nodes, Parameters(**parameters))


def assessed(found):
    return (
        [ref | {"new": False} for ref in found.refs],
        [one | {"new": False} for one in found.evidence],
    )


def test_a_packet_shows_the_best_of_what_is_new_in_the_order_of_arrival():
    nodes = [node("a", 0.1), node("b", 0.9), node("c", 0.5), node("d", 0.7)]

    found = window([], [], nodes, evidence=3)

    assert shown(found) == ["b", "c", "d"]
    assert found.displaced == []
    assert found.entered == {"variable_b", "variable_c", "variable_d"}


def test_of_equals_the_first_stays():
    assert shown(window([], [], [node(one) for one in "abc"], evidence=2)) == ["a", "b"]


def test_new_evidence_comes_before_what_was_assessed_however_good_that_was():
    first = window([], [], [node("a", 0.9), node("b", 0.8)], evidence=2)

    second = window(*assessed(first), [node("c", 0.1)], evidence=2)

    assert shown(second) == ["a", "c"]
    assert [one["new"] for one in second.evidence] == [False, True]
    assert second.displaced == []


def test_how_the_evidence_came_makes_no_difference_to_which_is_shown():
    nodes = [node(name, score) for name, score in zip("abcde", (3, 1, 4, 1, 5), strict=True)]
    best = {"variable_a", "variable_c", "variable_e"}

    for order in itertools.permutations(nodes):
        refs, evidence = [], []
        for one in order:
            found = window(refs, evidence, [one], evidence=3)
            refs, evidence = found.refs, found.evidence
        assert {one["node_id"] for one in evidence} == best


def test_evidence_that_comes_again_is_new_again_and_as_it_is_now():
    first = window([], [], [node("a"), node("b")])

    second = window(*assessed(first), [node("a", content="better words")])

    assert [(one["id"], one["new"]) for one in second.evidence] == [("a", True), ("b", False)]
    assert second.evidence[0]["content"] == "better words"


def test_a_packet_has_no_scores_anywhere(graphs, field, make):
    field.submit([make.hits("gcn_4", score=0.987)])
    field.assess(field.packets()[0], [])
    field.submit([make.hits("gcn_5", score=0.876)])

    for record in graphs.records()["packets"]:
        assert "score" not in str(record)
        assert "0.987" not in str(record)


def test_a_long_text_is_cut_and_says_so():
    (short, long) = window(
        [], [], [node("a", content="x" * 80), node("b", content="x" * 81)], excerpt_chars=80
    ).evidence

    assert (len(short["content"]), "cut" in short) == (80, False)
    assert (len(long["content"]), long["cut"]) == (80, True)


def test_a_packet_grows_while_it_waits_and_the_next_one_begins_after_it(graphs, field, make):
    first = field.packets()[0]
    field.submit([make.hits("gcn_4")])
    grown = field.packets()[0]
    field.assess(grown, [])
    field.submit([make.hits("gcn_5")])
    (following,) = field.packets()

    assert (first.id, first.number, len(first.evidence)) == (grown.id, 1, 3)
    assert len(grown.evidence) == 4
    assert (following.number, len(following.evidence)) == (2, 5)
    assert [one["id"] for one in following.evidence if one["new"]] == ["gcn_5"]
    assert graphs.latest("packets")[first.id]["status"] == "assessed"


def test_what_better_evidence_took_the_place_of_may_still_be_named(graphs, make):
    with graphs.new(evidence=2) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2", score=0.1)])
        early = session.packets()[0]
        session.submit([make.hits("gcn_3", score=0.9)])
        late = session.packets()[0]
        receipt = session.assess(early, [make.relation("gcn_1", "gcn_2")])

    assert [one["id"] for one in late.evidence] == ["gcn_1", "gcn_3"]
    assert {"gcn_1", "gcn_2", "gcn_3"} <= {ref["id"] for ref in late.allowed_refs}
    assert receipt.advanced


def test_an_answer_may_name_evidence_its_papers_and_the_focus(graphs, make):
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", paper={"id": "7", "title": "T"})])
        (packet,) = session.packets()

    paper = graphs.latest("nodes")[packet.allowed_refs[1]["node_id"]]
    assert [(ref["kind"], ref["id"]) for ref in packet.allowed_refs] == [
        ("variable", "gcn_1"),
        ("paper", "7"),
        ("focus", packet.focus_id),
    ]
    assert (paper["node_kind"], paper["title"]) == ("paper", "T")


def test_a_packet_holds_no_more_than_its_bound_however_much_comes(graphs, make):
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits(*(f"gcn_{n}" for n in range(200)))])
        (packet,) = session.packets()

    (record,) = graphs.records()["packets"]
    assert len(packet.evidence) == len(record["evidence"]) == session.parameters.evidence
    assert len(record["displaced"]) <= session.parameters.evidence


def test_the_packets_come_in_the_order_of_the_queue(graphs, make):
    with graphs.new() as session:
        for bucket in "ab":
            session.open_bucket(bucket, bucket_id=bucket)
            session.submit([make.hits(f"gcn_{bucket}", buckets=[bucket])])
        first, second = session.packets()
        session.set_focus(second.focus_id, priority="high")
        turned = session.packets()
        only = session.packets(1)

    assert [one.id for one in turned] == [second.id, first.id]
    assert [one.id for one in only] == [second.id]


def test_evidence_that_came_before_its_bucket_is_named_by_its_providers_id(graphs, make):
    with graphs.new() as session:
        session.submit([make.hits("gcn_1", buckets=[])])
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", file="again")])
        (packet,) = session.packets()

    assert [ref["id"] for ref in packet.allowed_refs if ref["kind"] == "variable"] == ["gcn_1"]


def test_a_provider_id_is_what_follows_the_kind():
    assert packets.provider_id({"id": "v", "source_key": "lkm:x:variable:gcn_1"}) == "gcn_1"
    assert packets.provider_id({"id": "v", "source_key": "lkm:x:variable:p:1::P3"}) == "p:1::P3"
    assert packets.provider_id({"id": "v"}) == "v"
    assert packets.provider_id({"id": "v", "source_key": "odd"}) == "v"
