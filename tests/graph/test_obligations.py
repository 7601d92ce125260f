import itertools

import pytest

from varvite.errors import InputError, RecordNotFoundError, StateConflictError
from varvite.graph import due, focus, obligations, outbox, upkeep
from varvite.graph.obligations import STEPS
from varvite.session import inbox
from varvite.session.inbox import Act


def step(session, make, name):
    return session.submit([make.hits(name, buckets=[])])


@pytest.fixture
def session(graphs):
    with graphs.new(overdue_after=2) as session:
        yield session


def opened(session, content="answer it", **fields):
    target = {"target_kind": "gaia_qid", "target_id": "q"} | fields
    return session.obligations.open(content, **target)


@pytest.mark.parametrize(("now", "to"), list(itertools.product(STEPS, STEPS)))
def test_every_pair_of_states_is_a_step_or_refused(session, now, to):
    own = opened(session)
    reach = {"open": [], "deferred": ["defer"], "closed": ["close"]}[now]
    for act in reach:
        getattr(session.obligations, act)(own, "why")
    act = {"open": "reopen", "deferred": "defer", "closed": "close"}[to]

    if to in STEPS[now]:
        assert getattr(session.obligations, act)(own, "why")["status"] == to
    else:
        cursor = session.cursor
        with pytest.raises(StateConflictError):
            getattr(session.obligations, act)(own, "why")
        assert session.cursor == cursor


def test_the_same_obligation_opened_again_changes_nothing(session):
    own = opened(session)
    cursor = session.cursor

    assert opened(session, " answer it ") == own
    assert session.cursor == cursor


def test_a_closed_obligation_opened_again_is_open_with_its_history(graphs, session):
    own = opened(session, why="first")
    session.obligations.close(own, "answered")

    assert opened(session) == own
    found = graphs.latest("obligations")[own]
    assert (found["status"], found["rev"], found["closed_reason"]) == ("open", 2, "answered")


@pytest.mark.parametrize(
    ("kind", "diagnostic"),
    [
        ("needs_more_evidence", "support_weak"),
        ("coverage_gap", "focus_weakness"),
        ("prior_hole", "prior_hole"),
        ("whatever", "other"),
    ],
)
def test_a_word_that_gaia_has_not_becomes_one_that_it_has(graphs, session, kind, diagnostic):
    own = opened(session, kind=kind)

    found = graphs.latest("obligations")[own]
    assert (found["raw_kind"], found["diagnostic_kind"]) == (kind, diagnostic)


def test_what_is_no_obligation_is_refused(session):
    for fields in ({"content": " "}, {"target_kind": "paper"}, {"target_id": ""}):
        with pytest.raises(InputError):
            opened(session, **fields)


@pytest.mark.parametrize("kind", ["focus", "bucket", "node"])
def test_a_target_that_the_session_has_not_is_refused_with_what_it_is(session, kind):
    cursor = session.cursor

    with pytest.raises(RecordNotFoundError, match=f"no {kind} 'none'") as caught:
        opened(session, target_kind=kind, target_id="none")

    assert caught.value.hint
    assert session.cursor == cursor


def test_a_bucket_or_a_node_that_the_session_has_is_a_target(session, make):
    session.open_bucket("Scaling", bucket_id="b")
    session.submit([make.hits("gcn_1")])
    node_id = session.packets()[0].evidence[0]["node_id"]

    for kind, target in (("bucket", "b"), ("node", node_id)):
        assert opened(session, target_kind=kind, target_id=target)
    with pytest.raises(RecordNotFoundError):
        session.obligations.close("obligation_none", "why")


def test_an_obligation_on_a_bucket_presses_on_the_first_focus_of_it(graphs, session, make):
    session.open_bucket("Scaling", bucket_id="b")
    session.submit([make.hits("gcn_1")])
    (waiting,) = session.packets()

    own = opened(session, target_kind="bucket", target_id="b")

    found = graphs.latest("obligations")[own]
    assert (found["bucket_id"], found["focus_id"]) == ("b", waiting.focus_id)
    assert focus.load(session.look, waiting.focus_id)["obligation_ids"] == [own]


def test_opening_and_closing_presses_and_relieves_the_focus(session):
    own = session.open_focus("what of it?")
    before = focus.load(session.look, own)["score"]
    due_one = opened(session, target_kind="focus", target_id=own)
    pressed = focus.load(session.look, own)
    session.obligations.close(due_one, "answered")
    relieved = focus.load(session.look, own)

    assert (pressed["open_obligations"], pressed["triggers"]) == (1, ["obligation_opened"])
    assert pressed["score"] > before == relieved["score"]
    assert (relieved["open_obligations"], relieved["obligation_ids"]) == (0, [])


def test_an_obligation_is_overdue_after_so_many_steps_and_again_after_as_many(session, make):
    own = opened(session)
    counts = []
    for n in range(5):
        step(session, make, f"gcn_{n}")
        counts.append(due.load(session.look, own)["overdue"])

    assert counts == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("act", ["close", "defer"])
def test_what_is_not_open_falls_due_no_more(session, make, act):
    own = opened(session)
    getattr(session.obligations, act)(own, "why")
    for n in range(4):
        step(session, make, f"gcn_{n}")

    assert due.load(session.look, own)["overdue"] == 0


def test_one_that_was_opened_again_falls_due_by_its_last_opening(session, make):
    own = opened(session)
    step(session, make, "gcn_1")
    session.obligations.close(own, "answered")
    opened(session)
    counts = []
    for n in range(2, 4):
        step(session, make, f"gcn_{n}")
        counts.append(due.load(session.look, own)["overdue"])

    assert counts == [0, 1]


def test_what_falls_due_comes_to_hand_before_what_does_not(session, monkeypatch, make):
    monkeypatch.setattr(due, "WINDOW", 2)
    first, second, third = (opened(session, f"answer {n}") for n in range(3))
    for one in (first, second):
        session.obligations.close(one, "answered")
    step(session, make, "gcn_1")
    newer = [opened(session, f"newer {n}") for n in range(2)]
    before = [one["id"] for one in session.obligations.at_hand()]
    step(session, make, "gcn_2")

    assert before == newer
    assert [one["id"] for one in session.obligations.at_hand()] == [third, newer[0]]


def test_closing_an_overdue_one_relieves_the_focus_of_all_it_pressed(session, make):
    own = session.open_focus("what of it?")
    due_one = opened(session, target_kind="focus", target_id=own)
    for n in range(4):
        step(session, make, f"gcn_{n}")
    pressed = focus.load(session.look, own)["features"]["overdue"]
    session.obligations.close(due_one, "answered")

    assert pressed == 2
    assert focus.load(session.look, own)["features"]["overdue"] == 0


def test_more_than_a_step_takes_fall_due_at_the_next(session, monkeypatch, make):
    monkeypatch.setattr(due, "DUE_MAX", 2)
    own = [opened(session, f"answer {n}") for n in range(5)]

    assert [due.load(session.look, one)["due_step"] for one in own] == [2, 2, 3, 3, 4]
    for n in range(4):
        step(session, make, f"gcn_{n}")
    assert [due.load(session.look, one)["overdue"] for one in own] == [2, 1, 1, 1, 1]


def test_what_is_at_hand_is_bounded_and_begins_with_what_is_overdue(session, monkeypatch, make):
    monkeypatch.setattr(due, "WINDOW", 3)
    own = [opened(session, f"answer {n}") for n in range(2)]
    for n in range(2):
        step(session, make, f"gcn_{n}")
    late = [opened(session, f"late {n}") for n in range(4)]
    session.obligations.close(own[1], "answered")
    session.obligations.defer(late[3], "later")

    at_hand = due.at_hand(session.look)
    assert (at_hand.open, at_hand.deferred) == (4, 1)
    assert [one["id"] for one in session.obligations.at_hand()][:1] == own[:1]
    assert len(at_hand.window) <= 3


def test_an_obligation_is_planned_into_gaia_and_out_of_it(graphs, session):
    own = opened(session)
    session.obligations.close(own, "answered")
    private = opened(session, "between us", actionable=False)
    session.obligations.close(private, "answered")

    planned = [(one["kind"], one["subject_id"]) for one in graphs.records()["projections"]]
    assert planned == [("obligation_open", own), ("obligation_close", own)]


def planned(graphs, kind="obligation_open"):
    return [one["subject_id"] for one in graphs.records()["projections"] if one["kind"] == kind]


def test_gaia_is_given_only_so_many_open_ones_and_the_next_when_one_is_closed(
    graphs, session, monkeypatch
):
    monkeypatch.setattr(outbox, "OPEN_IN_GAIA_MAX", 2)
    own = [opened(session, f"answer {n}") for n in range(5)]
    before = planned(graphs)
    session.obligations.close(own[2], "it was not needed")
    session.obligations.close(own[0], "answered")
    session.obligations.defer(own[1], "later")

    assert before == own[:2]
    assert planned(graphs) == [own[0], own[1], own[3], own[4]]
    assert planned(graphs, "obligation_close") == own[:2]
    assert list(due.FOR_GAIA.waiting(session.look, due.GAIA)) == []


def test_what_waits_for_room_and_is_opened_again_goes_to_the_end(graphs, session, monkeypatch):
    monkeypatch.setattr(outbox, "OPEN_IN_GAIA_MAX", 1)
    own = [opened(session, f"answer {n}") for n in range(3)]
    session.obligations.defer(own[1], "later")
    session.obligations.reopen(own[1], "after all")
    for one in (own[0], own[2]):
        session.obligations.close(one, "answered")

    assert planned(graphs) == [own[0], own[2], own[1]]


def test_of_thousands_that_wait_for_room_the_next_costs_the_same_few_reads(
    graphs, session, monkeypatch, reads
):
    monkeypatch.setattr(outbox, "OPEN_IN_GAIA_MAX", 1)
    counts = []
    for size in (10, 1_000):
        own = [opened(session, f"answer {size} {n}") for n in range(size)]
        for one in own[:3]:
            session.obligations.close(one, "answered")
        with reads(session) as asked:
            session.obligations.close(own[3], "answered")
        counts.append(asked.count)
        for one in own[4:]:
            session.obligations.close(one, "answered")

    assert counts[1] <= counts[0] + 2


def test_a_focus_names_the_newest_of_its_obligations_and_counts_all(session):
    own = session.open_focus("what of it?")
    ids = [opened(session, f"answer {n}", target_kind="focus", target_id=own) for n in range(20)]

    found = focus.load(session.look, own)
    assert found["open_obligations"] == 20
    assert found["obligation_ids"] == ids[-focus.OBLIGATION_IDS_MAX :]
    assert obligations.STEPS.keys() == {"open", "deferred", "closed"}


def test_an_act_about_a_node_that_is_not_there_is_set_aside_and_does_not_wait(graphs, session):
    wanted = {"content": "settle it", "target_kind": "node", "target_id": "nowhere"}
    act = Act("k", upkeep.OBLIGE, "job", {"obligations": [wanted]})

    with graphs.store.folder("s") as folder:
        inbox.leave(folder, act)
        session._writer.take_in()

        assert list(inbox.waiting(folder)) == []
        assert [one["error"]["code"] for one in inbox.refused(folder)] == ["record_not_found"]
