import pytest

from varvite.errors import LimitError, MalformedInputError, RecordNotFoundError, StateConflictError
from varvite.graph import answering, assess
from varvite.graph.assess import CODES, HINTS


def codes(session, draft):
    packet = session.packets()[0]
    receipt = session.assess(packet, [draft])
    return [context["codes"] for context in receipt.repairs]


FAULTS = {
    "type_unknown": {"type": "contradicts"},
    "hint_not_allowed": {"promotion_hint": "derive"},
    "refs_empty": {"source_refs": []},
    "item_n_ref": {"source_refs": [{"kind": "variable", "id": "item_2"}]},
    "ref_ungrounded": {"source_refs": ["gcn_9"]},
    "ref_not_claim": {"claim_refs": ["gcn_1", "gcn_q"]},
    "refs_lt_2": {"claim_refs": ["gcn_1"]},
    "refs_not_distinct": {"claim_refs": ["gcn_1", "gcn_1"]},
    "contradict_needs_2": {"claim_refs": ["gcn_1", "gcn_2", "gcn_3"], "pattern": "contradict"},
    "pattern_type_mismatch": {"pattern": "equal"},
    "label_not_identifier": {"label": "not a name"},
}


@pytest.fixture
def asked(field, make):
    """The same with a question among the evidence."""
    field.submit([make.hits("gcn_q", variable_type="question")])
    return field


@pytest.mark.parametrize("code", FAULTS)
def test_a_draft_with_one_fault_is_refused_with_its_code_alone(asked, make, code):
    assert codes(asked, make.relation("gcn_1", "gcn_2") | FAULTS[code]) == [[code]]


def test_a_draft_that_names_more_than_a_packet_holds_is_refused(graphs, make):
    with graphs.new(evidence=2) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2")])
        packet = session.packets()[0]
        refs = ["gcn_1", "gcn_2", packet.focus_id]

        assert codes(session, make.relation("gcn_1", "gcn_2", source_refs=refs)) == [
            ["packet_over_k"]
        ]


def test_a_draft_that_came_before_is_a_duplicate_whatever_its_refs_are_called(field, make):
    packet = field.packets()[0]
    nodes = [one["node_id"] for one in packet.evidence]
    first = make.relation("gcn_1", "gcn_2")
    same = make.relation(nodes[1], nodes[0]) | {"source_refs": [nodes[0]]}

    receipt = field.assess(packet, [first, same])

    assert len(receipt.candidates) == 1
    assert [one["codes"] for one in receipt.repairs] == [["duplicate_candidate"]]
    assert receipt.repairs[0]["next_action"] == "drop"
    assert receipt.repairs[0]["candidate_id"] == receipt.candidates[0]


def test_every_code_has_a_test():
    assert {*FAULTS, "packet_over_k", "duplicate_candidate"} == set(CODES)


def test_all_that_is_wrong_is_said_at_once_in_the_order_of_the_codes(field, make):
    draft = make.relation("gcn_1") | {"type": "opposes", "pattern": "equal", "label": "1"}
    draft |= {"source_refs": ["item_1", "gcn_9"], "promotion_hint": "obligation"}

    (found,) = codes(field, draft)

    assert found == [
        "hint_not_allowed",
        "item_n_ref",
        "ref_ungrounded",
        "refs_lt_2",
        "pattern_type_mismatch",
        "label_not_identifier",
    ]


@pytest.mark.parametrize(("kind", "hint"), [(k, h) for k, hints in HINTS.items() for h in hints])
def test_each_type_takes_each_of_its_hints(field, make, kind, hint):
    draft = make.relation("gcn_1", "gcn_2", type=kind, promotion_hint=hint)

    receipt = field.assess(field.packets()[0], [draft])

    assert (len(receipt.candidates), receipt.repairs, receipt.advanced) == (1, [], True)


@pytest.mark.parametrize("kind", HINTS)
@pytest.mark.parametrize("hint", sorted({hint for hints in HINTS.values() for hint in hints}))
def test_no_type_takes_another_hint(kind, hint):
    grounds = assess.Grounds("f", {"a": "a", "b": "b"}, {}, 12)
    grounds.refs.update({one: {"kind": "variable", "id": one} for one in "ab"})
    draft = assess.draft(
        {"type": kind, "claim": "c", "source_refs": ["a"], "claim_refs": ["a", "b"]}
        | {"promotion_hint": hint},
        "$",
    )

    found = [fault.code for fault in assess.faults(draft, grounds, known=False)]

    # a contradiction by hint is of two claims, which these are
    assert found == ([] if hint in HINTS[kind] else ["hint_not_allowed"])


def test_a_candidate_has_its_claims_by_node_and_its_evidence_by_every_name(graphs, field, make):
    packet = field.packets()[0]
    first, second = (one["node_id"] for one in packet.evidence[:2])

    receipt = field.assess(packet, [make.relation("gcn_1", second)])

    candidate = graphs.latest("candidates")[receipt.candidates[0]]
    assert candidate["claim_refs"] == [first, second]
    assert candidate["source_refs"] == [
        {"kind": "variable", "id": "gcn_1", "node_id": first, "value_type": "claim"}
    ]
    assert candidate["pattern"] == "contradict"
    assert candidate["label"].isidentifier()


def test_a_candidate_is_an_edge_and_a_planned_relation_after_its_claims(graphs, field, make):
    packet = field.packets()[0]
    first, second = (one["node_id"] for one in packet.evidence[:2])

    own = field.assess(packet, [make.relation("gcn_1", "gcn_2")]).candidates[0]

    (edge,) = [one for one in graphs.records()["edges"] if one["edge_kind"] == "opposes"]
    assert (edge["src"], edge["dst"], edge["candidate_id"]) == (first, second, own)
    planned = [(one["kind"], one["state"], one["place"]) for one in graphs.records()["projections"]]
    assert planned == [("add_package", "planned", 1), ("candidate", "planned", 2)]


def test_what_relates_no_claims_is_not_planned_into_gaia(graphs, field, make):
    draft = make.relation(type="background_for", source_refs=["gcn_1"])

    field.assess(field.packets()[0], [draft])

    assert len(graphs.records()["candidates"]) == 1
    assert graphs.records()["projections"] == []


def test_a_want_of_evidence_opens_an_obligation_on_its_focus(graphs, field, make):
    draft = make.relation(type="needs_more_evidence", source_refs=["gcn_1"])
    packet = field.packets()[0]

    receipt = field.assess(packet, [draft | {"promotion_hint": "obligation", "rationale": "thin"}])

    opened = graphs.latest("obligations")[receipt.obligations[0]]
    assert (opened["diagnostic_kind"], opened["focus_id"]) == ("support_weak", packet.focus_id)
    assert (opened["content"], opened["why"]) == (draft["claim"], "thin")
    assert graphs.latest("focuses")[packet.focus_id]["open_obligations"] == 1


def test_an_answer_without_relations_settles_the_packet(field):
    packet = field.packets()[0]

    assert field.assess(packet, []).advanced
    assert field.packets() == []


def test_a_settled_packet_takes_no_answer(field, make):
    packet = field.packets()[0]
    field.assess(packet, [])

    with pytest.raises(StateConflictError):
        field.assess(packet, [make.relation("gcn_1", "gcn_2")])
    with pytest.raises(RecordNotFoundError):
        field.assess("packet_none", [])


def test_an_answer_with_a_key_comes_back_as_it_was(graphs, field, make):
    packet = field.packets()[0]
    bad = make.relation("gcn_1", "gcn_9")
    first = field.assess(packet, [make.relation("gcn_1", "gcn_2"), bad], key="k")

    again = field.assess("not looked at", [], key="k")

    assert again.replayed
    assert (again.candidates, again.repairs) == (first.candidates, first.repairs)
    assert (again.cursor, again.advanced) == (first.cursor, False)
    assert len(graphs.records()["candidates"]) == 1


@pytest.mark.parametrize(
    ("draft", "path"),
    [
        (7, "$[0]"),
        ({}, "$[0].claim"),
        ({"claim": " ", "type": "opposes"}, "$[0].claim"),
        ({"claim": "c"}, "$[0].type"),
        ({"claim": "c", "type": 1}, "$[0].type"),
        ({"claim": "c", "type": "opposes", "source_refs": {}}, "$[0].source_refs"),
        ({"claim": "c", "type": "opposes", "source_refs": [1]}, "$[0].source_refs[0].id"),
        ({"claim": "c", "type": "opposes", "claim_refs": [{}]}, "$[0].claim_refs[0].id"),
        ({"claim": "c" * 20_001, "type": "opposes"}, "$[0].claim"),
        ({"claim": "c", "type": "opposes", "label": []}, "$[0].label"),
    ],
)
def test_what_is_no_draft_is_refused_with_its_path_and_nothing_is_kept(field, make, draft, path):
    cursor = field.cursor

    with pytest.raises(MalformedInputError) as caught:
        field.assess(field.packets()[0], [draft, make.relation("gcn_1", "gcn_2")])

    assert caught.value.path == path
    assert field.cursor == cursor


def test_an_answer_of_too_many_drafts_is_refused(field, make):
    drafts = [
        make.relation("gcn_1", "gcn_2", claim=str(n)) for n in range(answering.DRAFTS_MAX + 1)
    ]

    with pytest.raises(LimitError):
        field.assess(field.packets()[0], drafts)


def test_the_focus_goes_on_once_its_packet_is_settled(graphs, field):
    packet = field.packets()[0]
    before = graphs.latest("focuses")[packet.focus_id]

    field.assess(packet, [])

    focus = graphs.latest("focuses")[packet.focus_id]
    assert [ref["new"] for ref in before["evidence_refs"]] == [True] * 3
    assert [ref["new"] for ref in focus["evidence_refs"]] == [False] * 3
    assert (focus["cause"]["trigger"], focus["cause"]["ref"]) == ("assessed", packet.id)
    assert focus["score"] < before["score"]
    assert focus["readiness"] == "needs_expand"
