import pytest

from varvite.errors import InputError, RecordNotFoundError, StateConflictError
from varvite.graph import outbox, promotion
from varvite.graph.port import GATE_UNAVAILABLE, Failure
from varvite.testing.recording import CrashError, RecordingGaia


@pytest.fixture
def gaia():
    return RecordingGaia()


@pytest.fixture
def session(graphs, gaia, make):
    with graphs.new(gaia=gaia) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2", "gcn_3")])
        yield session


def candidate(session, make, *claims, **fields):
    claims = claims or ("gcn_1", "gcn_2")
    packet = session.packets()[0]
    (own,) = session.assess(packet, [make.relation(*claims, **fields)]).candidates
    return own


def promote(session, own, **fields):
    return session.promote(own, decided_by="human:ada", why="it was checked", **fields)


def test_a_candidate_that_gaia_has_is_promoted_through_the_gate(graphs, session, gaia, make):
    own = candidate(session, make)
    session.project()

    decision = promote(session, own)

    assert (decision["outcome"], decision["codes"], decision["verb"]) == (
        "applied",
        [],
        "contradict",
    )
    assert decision["decided_by"] == {"kind": "human", "name": "ada"}
    assert (decision["gate"]["ir_hash_before"], decision["gate"]["ir_hash_after"]) == ("a", "b")
    assert gaia.made[decision["id"]].relation.candidate_id == own
    stands = graphs.latest("candidates")[own]
    assert (stands["status"], stands["decision_id"]) == ("promoted", decision["id"])
    assert [one["outcome"] for one in graphs.records()["decisions"]] == ["unknown", "applied"]


def test_without_gaia_the_gate_is_closed_and_the_candidate_waits(graphs, make):
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2")])
        own = candidate(session, make)
        decision = promote(session, own)

    assert (decision["outcome"], decision["codes"]) == ("refused", [GATE_UNAVAILABLE])
    assert graphs.latest("candidates")[own]["status"] == "candidate"
    assert {one["kind"] for one in graphs.records()["projections"]} == {"add_package", "candidate"}


def test_what_closed_the_gate_is_told_beside_it(graphs, session, gaia, make):
    own = candidate(session, make)
    gaia.probe = lambda: promotion_probe("gaia_too_old")

    assert promote(session, own)["codes"] == [GATE_UNAVAILABLE, "gaia_too_old"]


def promotion_probe(code):
    from varvite.graph.port import Probe

    return Probe(failure=Failure(code, "0.4.4 has no engine"))


def test_what_hints_at_a_dependency_is_promoted_by_a_verb_that_is_named(session, gaia, make):
    own = candidate(session, make, type="supports", promotion_hint="depends_on")
    session.project()

    decision = promote(session, own, verb="derive")

    assert (decision["outcome"], decision["verb"]) == ("applied", "derive")


@pytest.mark.parametrize(
    ("fields", "given", "codes"),
    [
        ({}, {"verb": "derive"}, ["verb_not_allowed"]),
        ({}, {"verb": "exclusive"}, ["pattern_mismatch"]),
        ({}, {"p_e_given_h": 0.5}, ["probability"]),
        ({"promotion_hint": "infer"}, {"verb": "infer"}, ["probability"]),
        ({"promotion_hint": "infer"}, {"verb": "infer", "p_e_given_h": 1.0}, ["probability"]),
        ({"type": "undercuts"}, {}, ["not_promotable"]),
        ({"type": "supports", "promotion_hint": "depends_on"}, {}, ["verb_not_stable"]),
        ({"type": "supports"}, {"verb": "depends_on"}, ["verb_not_stable"]),
    ],
)
def test_what_gaia_would_not_take_is_refused_before_it_is_asked(
    session, gaia, make, fields, given, codes
):
    own = candidate(session, make, **fields)
    session.project()
    calls = list(gaia.calls)

    decision = promote(session, own, **given)

    assert (decision["outcome"], decision["codes"]) == ("refused", codes)
    assert gaia.calls == calls


def test_a_candidate_that_gaia_has_not_yet_is_refused(session, gaia, make):
    own = candidate(session, make)

    assert promote(session, own)["codes"] == ["not_projected", "target_unknown"]
    assert gaia.calls == []


def test_what_gaia_takes_by_mistake_is_refused_by_us(session, gaia, make):
    own = candidate(session, make)
    session.project()
    found = dict(label="cr", status="candidate", relation_type="opposes")  # noqa: C408
    related = outbox.load(session.look, promotion._projection_id(own))["payload"]["claims"]

    def codes(**fields):
        made = found | {"claim_refs": related, "pattern": "contradict"} | fields
        refusals = promotion.preflight(session.look, own, made, "contradict")
        return [one.code for one in refusals if one.code != "label_taken"]

    assert codes(claim_refs=[related[0], related[0]]) == ["refs_not_distinct"]
    assert codes(claim_refs=[related[0], "variable_none"]) == ["target_unknown"]
    assert codes(claim_refs=related[:1]) == ["refs_lt_2"]
    assert codes(claim_refs=[]) == ["refs_lt_2"]


def test_a_label_names_one_candidate(session, make):
    first = candidate(session, make, label="scaling_differs")
    session.submit([make.hits("gcn_4")])
    second = candidate(session, make, "gcn_1", "gcn_4", label="scaling_differs")
    session.project()

    assert promote(session, second)["codes"] == ["label_taken"]
    assert promote(session, first)["outcome"] == "applied"


def test_a_contradiction_of_three_claims_is_refused(session, make):
    own = candidate(session, make, "gcn_1", "gcn_2", "gcn_3")
    session.project()

    assert promote(session, own, verb="contradict")["codes"] == ["contradict_needs_2"]


def test_what_gaia_rolled_back_leaves_the_candidate_as_it_was(graphs, session, gaia, make):
    own = candidate(session, make)
    session.project()
    decision_id = promotion._next_id(session.look, own)
    gaia.failures[decision_id] = Failure("postwrite.compile_fail", "broken")

    decision = promote(session, own)
    gaia.failures.clear()
    again = promote(session, own)

    assert (decision["outcome"], decision["codes"]) == (
        "rolled_back",
        ["postwrite.compile_fail"],
    )
    assert again["outcome"] == "applied"
    assert graphs.latest("candidates")[own]["status"] == "promoted"
    assert graphs.latest("decisions")[decision["id"]]["outcome"] == "rolled_back"


def test_a_promotion_that_a_crash_cut_off_is_finished_and_made_once(graphs, session, gaia, make):
    own = candidate(session, make)
    session.project()
    gaia.crash_at = "promote"
    with pytest.raises(CrashError):
        promote(session, own)
    unknown = graphs.latest("decisions")
    drained = session.project()

    ((decision_id, before),) = unknown.items()
    assert before["outcome"] == "unknown"
    assert drained.applied == 1
    assert graphs.latest("decisions")[decision_id]["outcome"] == "applied"
    assert graphs.latest("candidates")[own]["status"] == "promoted"
    assert gaia.calls.count("promote") == 2


def test_a_promotion_is_superseded_by_a_demotion(graphs, session, gaia, make):
    own = candidate(session, make)
    session.project()
    promoted = promote(session, own)

    demoted = session.demote(own, decided_by="agent:judge", why="both can be true")

    assert (demoted["action"], demoted["outcome"]) == ("demote", "applied")
    assert demoted["supersedes"] == promoted["id"]
    assert promoted["id"] not in gaia.made
    assert graphs.latest("candidates")[own]["status"] == "demoted"
    (edge,) = [one for one in graphs.latest("edges").values() if one.get("candidate_id") == own]
    assert edge["status"] == "retracted"
    assert graphs.sql(
        "select id, superseded_by from promotions where action = 'promote'"
    ).rows() == [(promoted["id"], demoted["id"])]


def test_a_demotion_that_a_crash_cut_off_is_finished(graphs, session, gaia, make):
    own = candidate(session, make)
    session.project()
    promote(session, own)
    gaia.crash_at = "demote"
    with pytest.raises(CrashError):
        session.demote(own, decided_by="ada", why="both can be true")

    session.project()

    assert graphs.latest("candidates")[own]["status"] == "demoted"


def test_what_was_demoted_may_be_promoted_again(session, make):
    own = candidate(session, make)
    session.project()
    promote(session, own)
    session.demote(own, decided_by="ada", why="both can be true")

    assert promote(session, own)["outcome"] == "applied"
    assert promote(session, own)["codes"] == ["not_open"]


def test_only_what_is_promoted_can_be_demoted_and_it_is_not_rejected(session, make):
    own = candidate(session, make)
    with pytest.raises(StateConflictError):
        session.demote(own, decided_by="ada", why="no")
    session.project()
    promote(session, own)

    with pytest.raises(StateConflictError):
        session.reject(own, decided_by="ada", why="no")


def test_a_candidate_is_rejected_or_deferred_without_gaia(graphs, make):
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2")])
        own = candidate(session, make)
        deferred = session.defer(own, decided_by="policy:quota", why="enough for today")
        status = graphs.latest("candidates")[own]["status"]
        session.reject(own, decided_by="ada", why="it is wrong")

    assert (deferred["action"], status) == ("defer", "deferred")
    assert graphs.latest("candidates")[own]["status"] == "rejected"
    assert len(graphs.latest("decisions")) == 2


@pytest.mark.parametrize("act", ["reject", "defer"])
def test_what_is_decided_again_as_it_is_adds_nothing(session, make, act):
    own = candidate(session, make)
    first = getattr(session, act)(own, decided_by="human:ada", why="it is wrong")
    cursor = session.cursor

    again = getattr(session, act)(own, decided_by="ada", why="still so")

    assert (again, session.cursor) == (first, cursor)


@pytest.mark.parametrize("nobody", ["human", "agent", "policy", "human:", ""])
def test_a_kind_without_a_name_decides_nothing(session, make, nobody):
    own = candidate(session, make)

    for act in (session.promote, session.reject, session.defer, session.demote):
        with pytest.raises(InputError, match="who decided"):
            act(own, decided_by=nobody, why="checked")


def test_what_is_rejected_loses_its_edges_and_never_reaches_gaia(graphs, session, gaia, make):
    own = candidate(session, make)
    session.reject(own, decided_by="ada", why="it is wrong")
    drained = session.project()

    (relation,) = [
        one for one in graphs.latest("projections").values() if one["kind"] == "candidate"
    ]
    (edge,) = [one for one in graphs.latest("edges").values() if one["origin"] == "assessment"]
    assert (relation["state"], edge["status"]) == ("abandoned", "retracted")
    assert (drained.applied, drained.left) == (1, 0)
    assert own not in gaia.made


def test_what_is_rejected_stays_in_gaia_where_it_is_and_waits_there_no_more_where_it_failed(
    graphs, session, gaia, make
):
    drafts = [make.relation("gcn_1", "gcn_2"), make.relation("gcn_1", "gcn_3")]
    first, second = session.assess(session.packets()[0], drafts).candidates
    gaia.failures[second] = Failure("package_broken", "no", retryable=True)
    session.project()
    for own in (first, second, second):
        session.reject(own, decided_by="ada", why="it is wrong")
    gaia.failures.clear()
    drained = session.project()

    states = {
        one["subject_id"]: one["state"]
        for one in graphs.latest("projections").values()
        if one["kind"] == "candidate"
    }
    assert states == {first: "applied", second: "abandoned"}
    assert (drained.applied, drained.left, second in gaia.made) == (0, 0, False)


def test_a_rejected_want_of_evidence_has_no_edge_to_lose(graphs, session, make):
    own = candidate(session, make, type="needs_more_evidence", promotion_hint="none")
    session.reject(own, decided_by="ada", why="there is enough")

    assert [one for one in graphs.latest("edges").values() if one["origin"] == "assessment"] == []


def test_a_decision_has_a_decider_and_a_reason(session, make):
    own = candidate(session, make)
    cursor = session.cursor

    for who, why in (("", "w"), ("dog:rex", "w"), ("human:", "w"), ({}, "w"), ("ada", " ")):
        with pytest.raises(InputError):
            session.promote(own, decided_by=who, why=why)
    with pytest.raises(RecordNotFoundError):
        session.promote("candidate_none", decided_by="ada", why="w")
    assert session.cursor == cursor


def test_nothing_but_the_gate_promotes_anything(graphs, session, gaia, make):
    candidate(session, make)
    session.submit([make.hits("gcn_4")])
    session.project(check=True)
    session.pause()
    session.resume()

    assert "promote" not in gaia.calls
    assert graphs.records()["decisions"] == []
