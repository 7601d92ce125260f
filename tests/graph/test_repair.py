import pytest

from varvite.errors import RecordNotFoundError, StateConflictError
from varvite.testing.recording import RecordingGaia


def bad(make, **fields):
    return make.relation("gcn_1", "gcn_9") | fields


def test_a_refused_draft_is_kept_with_what_is_wrong_and_what_is_allowed(graphs, field, make):
    packet = field.packets()[0]
    draft = bad(make, note="kept as it was given")

    (context,) = field.assess(packet, [draft]).repairs

    (row,) = graphs.sql("from repair_contexts").dicts()
    assert context["draft"] == draft
    assert (row["task_id"], row["codes"], row["status"]) == (packet.id, ["ref_ungrounded"], "open")
    assert (row["attempt"], row["max_attempts"], row["next_action"]) == (1, 3, "resubmit")
    allowed = {ref["id"] for ref in context["allowed_refs"]}
    assert allowed == {"gcn_1", "gcn_2", "gcn_3", packet.focus_id}
    assert "opposes" in context["allowed_types"]
    assert context["allowed_hints"]["opposes"] == ["contradict", "infer", "none"]


def test_a_refused_draft_does_not_advance_its_packet(graphs, field, make):
    packet = field.packets()[0]

    receipt = field.assess(packet, [bad(make), make.relation("gcn_1", "gcn_2")])

    assert not receipt.advanced
    assert len(receipt.candidates) == 1
    assert [one.id for one in field.packets()] == [packet.id]
    assert graphs.latest("packets")[packet.id]["status"] == "pending"
    assert all(one["new"] for one in field.packets()[0].evidence)


def test_a_refused_draft_never_reaches_gaia(graphs, make):
    gaia = RecordingGaia()
    with graphs.new(gaia=gaia) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2")])
        session.assess(session.packets()[0], [bad(make)])
        drained = session.project(check=True)

    assert gaia.made == {}
    assert gaia.calls == []
    assert (drained.applied, drained.failed, drained.left) == (0, 0, 0)


def test_a_mended_draft_resolves_its_context_and_advances_the_packet(graphs, field, make):
    packet = field.packets()[0]
    (context,) = field.assess(packet, [bad(make)]).repairs

    receipt = field.assess(packet, [make.relation("gcn_1", "gcn_2", repairs=context["id"])])

    assert receipt.advanced
    candidate = graphs.latest("candidates")[receipt.candidates[0]]
    assert (candidate["attempt"], candidate["repairs"]) == (2, context["id"])
    resolved = graphs.latest("repair_contexts")[context["id"]]
    assert (resolved["status"], resolved["answered_by"]) == ("resolved", candidate["id"])


def test_the_chain_of_attempts_can_be_followed_in_sql(graphs, field, make):
    packet = field.packets()[0]
    (first,) = field.assess(packet, [bad(make)]).repairs
    (second,) = field.assess(packet, [bad(make, claim="again", repairs=first["id"])]).repairs
    made = field.assess(packet, [make.relation("gcn_1", "gcn_2", repairs=second["id"])])

    chain = graphs.sql(
        """
        with recursive chain as (
            select id, repairs, attempt, 'candidate' as what from candidates
            union all
            select r.id, r.repairs, r.attempt, r.status
            from repair_contexts as r join chain as c on r.id = c.repairs
        )
        select id, attempt, what from chain order by attempt desc
        """
    ).rows()

    assert chain == [
        (made.candidates[0], 3, "candidate"),
        (second["id"], 2, "resolved"),
        (first["id"], 1, "answered"),
    ]


def test_the_same_draft_again_is_its_next_attempt_without_being_named(graphs, field, make):
    packet = field.packets()[0]
    attempts = [field.assess(packet, [bad(make)]).repairs[0] for _ in range(3)]

    assert [one["attempt"] for one in attempts] == [1, 2, 3]
    assert [one["next_action"] for one in attempts] == ["resubmit", "resubmit", "human"]
    assert attempts[1]["repairs"] == attempts[0]["id"]
    with pytest.raises(StateConflictError):
        field.assess(packet, [bad(make)])


def test_when_the_attempts_are_used_up_the_focus_waits_for_a_human(graphs, make):
    with graphs.new(attempts=1) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2")])
        packet = session.packets()[0]
        (context,) = session.assess(packet, [bad(make)]).repairs
        focus = graphs.latest("focuses")[packet.focus_id]
        settled = session.drop_repair(context["id"], "the claim is not in the literature")

    assert context["next_action"] == "human"
    assert focus["readiness"] == "needs_human_review"
    assert settled
    dropped = graphs.latest("repair_contexts")[context["id"]]
    assert (dropped["status"], dropped["why"]) == ("dropped", "the claim is not in the literature")
    assert graphs.latest("packets")[packet.id]["status"] == "assessed"
    assert graphs.latest("focuses")[packet.focus_id]["readiness"] == "needs_expand"


def test_a_packet_advances_only_with_the_last_of_its_contexts(field, make):
    packet = field.packets()[0]
    first, second = field.assess(packet, [bad(make), bad(make, claim="another")]).repairs

    assert not field.drop_repair(first["id"], "no")
    assert field.drop_repair(second["id"], "no")


def test_a_context_that_is_not_open_for_this_packet_cannot_be_answered(field, make):
    packet = field.packets()[0]
    (context,) = field.assess(packet, [bad(make)]).repairs
    field.drop_repair(context["id"], "no")
    field.submit([make.hits("gcn_4")])
    other = field.packets()[0]
    cursor = field.cursor

    with pytest.raises(StateConflictError):
        field.assess(other, [make.relation("gcn_1", "gcn_2", repairs=context["id"])])
    with pytest.raises(RecordNotFoundError):
        field.assess(other, [make.relation("gcn_1", "gcn_2", repairs="repair_none")])
    with pytest.raises(StateConflictError):
        field.drop_repair(context["id"], "again")
    assert field.cursor == cursor
