import itertools
import json

import pytest

from varvite.errors import RecordNotFoundError, StateConflictError
from varvite.graph import outbox
from varvite.graph.outbox import STATES
from varvite.graph.port import Failure
from varvite.testing.recording import CrashError, RecordingGaia

REACH = {
    "planned": [],
    "applying": ["applying"],
    "applied": ["applying", "applied"],
    "verified": ["applying", "applied", "verified"],
    "failed": ["applying", "failed"],
    "abandoned": ["abandoned"],
}


@pytest.fixture
def gaia():
    return RecordingGaia()


@pytest.fixture
def session(graphs, gaia, make):
    """Two claims that oppose each other, an obligation and a focus: all planned."""
    with graphs.new(gaia=gaia) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2", "gcn_3")])
        packet = session.packets()[0]
        session.assess(packet, [make.relation("gcn_1", "gcn_2", rationale="they differ")])
        session.obligations.open("answer it", target_kind="focus", target_id=packet.focus_id)
        session.set_focus(packet.focus_id, status="accepted")
        yield session


def states(graphs):
    return {one["kind"]: one["state"] for one in graphs.latest("projections").values()}


@pytest.mark.parametrize(("now", "to"), list(itertools.product(STATES, STATES)))
@pytest.mark.parametrize("retryable", [True, False])
def test_every_pair_of_states_is_a_step_or_refused(graphs, now, to, retryable):
    with graphs.new() as session:
        own = session.act(lambda batch: outbox.plan(batch, "candidate", "c", {}))
        for state in REACH[now]:
            fields = {"retryable": retryable} if state == "failed" else {}
            session.act(lambda batch: outbox.step_to(batch, own, state, **fields))  # noqa: B023
        takes = to in STATES[now] and ((now, to) != ("failed", "applying") or retryable)

        if takes:
            made = session.act(lambda batch: outbox.step_to(batch, own, to))
            assert made["state"] == outbox.load(session.look, own)["state"] == to
        else:
            with pytest.raises(StateConflictError):
                session.act(lambda batch: outbox.step_to(batch, own, to))
            assert outbox.load(session.look, own)["state"] == now


def test_without_gaia_nothing_is_begun_and_all_of_it_waits(graphs, make):
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2")])
        session.assess(session.packets()[0], [make.relation("gcn_1", "gcn_2")])
        cursor = session.cursor
        drained = session.project()

        assert session.cursor == cursor
    assert (drained.left, drained.codes) == (2, {"gate_unavailable": 1})
    assert set(states(graphs).values()) == {"planned"}


def test_what_was_planned_reaches_gaia_kind_by_kind(graphs, session, gaia):
    drained = session.project()

    assert gaia.calls == ["add_source_shard", "sync_obligations", "set_focus", "write_candidates"]
    assert (drained.applied, drained.failed, drained.left) == (4, 0, 0)
    assert set(states(graphs).values()) == {"applied"}


def test_a_projected_node_has_its_package_ref_and_is_still_whole(graphs, session, gaia):
    session.project()

    nodes = [one for one in graphs.latest("nodes").values() if one["node_kind"] == "variable"]
    projected = [one for one in nodes if one["projection"] == "applied"]
    assert {one["source_key"].rpartition(":")[2] for one in projected} == {"gcn_1", "gcn_2"}
    for one in projected:
        assert one["package_ref"] == f"field:s-1::{one['id']}"
        assert one["content"] == gaia.made[one["id"]].content
        assert gaia.made[one["id"]].metadata["varvite"]["node_id"] == one["id"]
        assert outbox.package_ref(session.look, one["id"]) == one["package_ref"]


def test_a_projected_candidate_names_its_claims_and_carries_our_ids(graphs, session, gaia):
    session.project()

    (candidate,) = graphs.latest("candidates").values()
    made = gaia.made[candidate["id"]]
    refs = [outbox.package_ref(session.look, one) for one in candidate["claim_refs"]]
    assert list(made.claims) == refs
    assert (made.pattern, made.rationale) == ("contradict", "they differ")
    assert made.metadata == {"varvite": {"session": "s", "candidate_id": candidate["id"]}}
    assert candidate["gaia"] == {"scaffold_qid": f"field::{candidate['label']}"}


def test_an_obligation_learns_its_qid_and_is_closed_by_it(graphs, session, gaia):
    session.project()
    (own,) = graphs.latest("obligations")
    session.obligations.close(own, "answered")
    drained = session.project()

    assert graphs.latest("obligations")[own]["gaia_qid"] == "oblig_0"
    assert drained.applied == 1
    assert own not in gaia.made


@pytest.mark.parametrize(
    ("acts", "open_in_gaia"),
    [
        (["close"], False),
        (["close", "reopen"], True),
        (["project", "close"], False),
        (["project", "close", "reopen"], True),
        (["project", "close", "project", "reopen", "defer"], False),
    ],
)
def test_openings_and_closings_of_one_flush_come_to_what_they_come_to_one_by_one(
    graphs, session, gaia, acts, open_in_gaia
):
    (own,) = graphs.latest("obligations")
    for act in acts:
        if act == "project":
            session.project()
        else:
            getattr(session.obligations, act)(own, "so be it")

    drained = session.project()

    assert (own in gaia.made) is open_in_gaia
    assert (drained.failed, drained.left) == (0, 0)
    assert gaia.calls.count("sync_obligations") <= acts.count("project") + 1


@pytest.mark.parametrize("code", ["package_broken", "uv_missing", "gaia_died"])
def test_what_fails_five_times_ends_as_failed_and_says_why(graphs, session, gaia, code):
    (own,) = graphs.latest("candidates")
    gaia.failures[own] = Failure(code, f"it was {code}", retryable=True)
    for _ in range(outbox.ATTEMPTS_MAX):
        session.project()
    gaia.failures.clear()
    after = session.project()

    (row,) = graphs.sql(
        "select state, attempts, retryable, error from projections where kind = 'candidate'"
    ).dicts()
    error = {"code": code, "message": f"it was {code}", "retryable": True}
    assert (row["state"], row["attempts"], row["retryable"]) == ("failed", 5, False)
    assert json.loads(row["error"]) == error
    assert (after.applied, after.left) == (0, 0)


def test_what_failed_for_good_is_tried_again_when_someone_says_so(graphs, session, gaia):
    failed = {one["kind"]: one["id"] for one in graphs.latest("projections").values()}
    (candidate,) = graphs.latest("candidates")
    (node, _) = next(
        one["payload"]["node_ids"]
        for one in graphs.latest("projections").values()
        if one["kind"] == "add_package"
    )
    gaia.failures[node] = Failure("uv_missing", "no uv", retryable=True)
    gaia.failures[candidate] = Failure("label_collision", "taken")
    for _ in range(outbox.ATTEMPTS_MAX):
        session.project()
    gaia.failures.clear()
    before = session.project()

    left = session.try_again([failed["add_package"], failed["candidate"]] * 2)
    drained = session.project()

    assert set(states(graphs).values()) == {"applied"}
    assert (before.applied, left, drained.applied, drained.left) == (0, 2, 2, 0)
    for one in (failed["candidate"], failed["obligation_open"]):
        with pytest.raises(StateConflictError):
            session.try_again([one])


def test_a_decision_is_made_again_and_not_tried_again(graphs, session, gaia):
    (candidate,) = graphs.latest("candidates")
    session.project()
    decided = session.promote(candidate, decided_by="human:ada", why="so")
    (own,) = [one for one in graphs.latest("projections").values() if one["kind"] == "promotion"]

    assert decided["outcome"] == "applied"
    with pytest.raises(StateConflictError, match="was a decision"):
        session.try_again([own["id"]])


def test_what_is_checked_is_verified_and_what_is_not_sound_stays_applied(graphs, session, gaia):
    gaia.sound = False
    unsound = session.project(check=True)
    session.obligations.open("more", target_kind="gaia_qid", target_id="q")
    gaia.sound = True
    sound = session.project(check=True)

    assert (unsound.verified, unsound.applied, unsound.codes) == (0, 4, {"check_failed": 1})
    assert (sound.verified, sound.applied) == (1, 0)
    assert sorted(one["state"] for one in graphs.latest("projections").values()) == [
        *["applied"] * 4,
        "verified",
    ]


def test_no_more_is_begun_than_was_asked_for(graphs, session):
    first = session.project(1)
    rest = session.project(10)

    assert (first.applied, first.left) == (1, 3)
    assert (rest.applied, rest.left) == (3, 0)


@pytest.mark.parametrize(
    "call", ["add_source_shard", "sync_obligations", "set_focus", "write_candidates"]
)
def test_what_a_crash_cut_off_is_done_again_and_made_once(graphs, session, gaia, call):
    gaia.crash_at = call
    with pytest.raises(CrashError):
        session.project()
    made = dict(gaia.made)
    begun = [one for one, state in states(graphs).items() if state == "applying"]

    drained = session.project()

    assert begun
    assert made.items() <= gaia.made.items()
    assert (drained.failed, drained.left) == (0, 0)
    assert set(states(graphs).values()) == {"applied"}
    assert outbox.begun(session.look) == []


def test_a_failure_that_may_pass_is_tried_again_and_then_given_up(graphs, session, gaia):
    (own,) = graphs.latest("candidates")
    gaia.failures[own] = Failure("package_busy", "later", retryable=True)
    counts = [session.project().codes for _ in range(outbox.ATTEMPTS_MAX + 1)]

    failed = [one for one in graphs.latest("projections").values() if one["state"] == "failed"]
    assert counts == [{"package_busy": 1}] * outbox.ATTEMPTS_MAX + [{}]
    assert [(one["attempts"], one["retryable"]) for one in failed] == [(5, False)]
    assert failed[0]["error"]["code"] == "package_busy"


def test_a_failure_that_passes_is_applied_on_the_next_try(graphs, session, gaia):
    (own,) = graphs.latest("candidates")
    gaia.failures[own] = Failure("package_busy", "later", retryable=True)
    session.project()
    gaia.failures.clear()

    assert session.project().applied == 1
    assert states(graphs)["candidate"] == "applied"


def test_a_failure_for_good_is_not_tried_again(graphs, session, gaia):
    (own,) = graphs.latest("candidates")
    gaia.failures[own] = Failure("label_collision", "taken")
    session.project()

    assert session.project().codes == {}
    assert states(graphs)["candidate"] == "failed"


def test_a_candidate_waits_for_the_claims_that_gaia_has_not_taken(graphs, session, gaia):
    (candidate,) = graphs.latest("candidates").values()
    missing = candidate["claim_refs"][0]
    gaia.failures[missing] = Failure("package_busy", "later", retryable=True)
    first = session.project()
    gaia.failures.clear()
    second = session.project()

    assert first.codes == {"package_busy": 1, "target_unknown": 1}
    assert second.applied == 2
    assert set(states(graphs).values()) == {"applied"}


def test_nodes_fill_one_shard_before_the_next_and_go_in_once(graphs, make, monkeypatch):
    monkeypatch.setattr(outbox, "SHARD_CLAIMS_MAX", 3)
    with graphs.new() as session:
        session.submit([make.hits(*(f"gcn_{n}" for n in range(8)), buckets=[])])
        nodes = [one["id"] for one in graphs.records()["nodes"]]
        session.accept(nodes[:2])
        session.accept(nodes)
        again = session.accept(nodes)

    payloads = [one["payload"] for one in graphs.records()["projections"]]
    assert [(one["shard"], one["filled"], one["node_ids"]) for one in payloads] == [
        (1, 2, nodes[:2]),
        (1, 3, nodes[2:3]),
        (2, 3, nodes[3:6]),
        (3, 2, nodes[6:]),
    ]
    assert again == []


def test_only_variables_that_there_are_can_be_accepted(graphs, make):
    with graphs.new() as session:
        session.submit([make.hits("gcn_1", buckets=[], paper={"id": "7"})])
        paper = next(one["id"] for one in graphs.records()["nodes"] if one["id"][0] == "p")
        for name in ("variable_none", paper):
            with pytest.raises(RecordNotFoundError):
                session.accept([name])


def test_a_session_may_accept_every_variable_that_comes(graphs, make):
    with graphs.new(accept="all") as session:
        session.submit([make.hits("gcn_1", "gcn_2", buckets=[])])
        session.submit([make.hits("gcn_2", "gcn_3", buckets=[], file="x")])

    payloads = [one["payload"] for one in graphs.records()["projections"]]
    assert [len(one["node_ids"]) for one in payloads] == [2, 1]
    assert [one["filled"] for one in payloads] == [2, 3]


def test_a_node_that_came_with_its_ref_is_in_a_package_already(graphs, make):
    with graphs.new() as session:
        session.submit([make.hits("gcn_1", buckets=[], package_ref="p:p::c")])
        (node,) = [one["id"] for one in graphs.records()["nodes"]]

        assert session.accept([node]) == []
        assert outbox.package_ref(session.look, node) == "p:p::c"


def test_the_states_of_a_projection_can_be_followed_in_sql(graphs, session):
    session.project()

    rows = graphs.sql(
        "select json_extract_string(body, '$.state') from records "
        "where stream = 'projections' and json_extract_string(body, '$.kind') = 'candidate' order by seq"
    ).rows()
    assert rows == [("planned",), ("applying",), ("applied",)]
    assert graphs.sql(
        "select state, attempts from projections where kind = 'candidate'"
    ).rows() == [("applied", 1)]
