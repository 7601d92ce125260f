import itertools
import json

import pytest

from varvite.errors import (
    InputError,
    MalformedInputError,
    RecordNotFoundError,
    StateConflictError,
)
from varvite.graph import frontier
from varvite.graph.frontier import STEPS

NOW = "2026-01-01T12:00:00Z"


@pytest.fixture
def session(graphs):
    with graphs.new() as session:
        yield session


def lease(session, count=1, **fields):
    terms = {"for_steps": 2, "now": NOW} | fields
    return [one["id"] for one in session.frontier.lease(count, **terms)]


def step(session, make, name):
    session.submit([make.hits(name, buckets=[])])


def test_calls_are_leased_by_priority_and_in_the_order_of_coming(session):
    ids = [
        session.frontier.add({"text": text}, priority=priority)
        for text, priority in [("a", "low"), ("b", "medium"), ("c", "high"), ("d", "medium")]
    ]

    assert lease(session, 2) == [ids[2], ids[1]]
    assert lease(session, 5) == [ids[3], ids[0]]
    assert lease(session) == []
    assert session.frontier.counts() == {"pending": 0, "leased": 4}


def test_the_same_call_added_again_adds_nothing_whatever_became_of_it(session):
    own = session.frontier.add({"text": "a", "limit": 3})
    lease(session)
    session.frontier.done(own)
    cursor = session.cursor

    assert session.frontier.add({"limit": 3, "text": "a"}) == own
    assert session.frontier.add({"text": "other"}, dedup_key="k") != own
    assert session.frontier.add({"text": "again"}, dedup_key="k") == session.frontier.add(
        {"text": "other"}, dedup_key="k"
    )
    assert session.cursor == cursor + 1


def test_a_lease_ends_after_its_steps(session, make):
    own = session.frontier.add({"text": "a"})
    lease(session, for_steps=2)
    step(session, make, "gcn_1")
    early = lease(session, by="other")
    step(session, make, "gcn_2")

    assert early == []
    assert lease(session, by="other") == [own]
    assert session.frontier.find(own)["lease_by"] == "other"


@pytest.mark.parametrize(
    ("later", "over"),
    [
        ("2026-01-01T12:29:59.999999Z", False),
        ("2026-01-01T12:30:00Z", True),
        ("2026-01-01T12:30:00.000001Z", True),
        ("2026-01-01T14:30:00+02:00", True),
    ],
)
def test_a_lease_ends_at_its_time_by_the_callers_clock(session, later, over):
    own = session.frontier.add({"text": "a"})
    lease(session, for_steps=None, until="2026-01-01T12:30:00Z")

    assert lease(session, now=later) == ([own] if over else [])


def test_what_is_over_is_leased_before_what_waits(session):
    first = session.frontier.add({"text": "a"}, priority="low")
    lease(session, for_steps=None, until=NOW)
    second = session.frontier.add({"text": "b"}, priority="high")

    assert lease(session, 2) == [first, second]


def test_whoever_lost_the_lease_cannot_finish_the_call(session):
    own = session.frontier.add({"text": "a"})
    lease(session, by="one", for_steps=None, until=NOW)
    lease(session, by="two")

    with pytest.raises(StateConflictError):
        session.frontier.done(own, by="one")
    done = session.frontier.done(own, by="two", response_id="response_1", hits=3)
    assert (done["status"], done["response_id"], done["hits"]) == ("done", "response_1", 3)
    assert "lease_by" not in done


@pytest.mark.parametrize(
    ("now", "to"), list(itertools.product(STEPS, ["done", "failed", "skipped"]))
)
def test_every_pair_of_states_is_a_step_or_refused(session, now, to):
    own = session.frontier.add({"text": "a"})
    if now != "pending":
        lease(session)
    if now in {"done", "failed", "skipped"}:
        session.act(lambda batch: frontier.finish(batch, own, now))
    act = {"done": "done", "failed": "failed", "skipped": "skip"}[to]

    if to in STEPS[now]:
        assert getattr(session.frontier, act)(own)["status"] == to
    else:
        with pytest.raises(StateConflictError):
            getattr(session.frontier, act)(own)


def answer(make, *variables, file="a", **fields):
    return make.payload(make.search(*variables), file, **fields)


@pytest.fixture
def leased(session):
    own = session.frontier.add({"text": "exponents", "limit": 5}, priority="high")
    lease(session, by="one", for_steps=3)
    return own


def test_an_answer_ends_the_leased_call_that_asked_it(graphs, session, make, leased):
    session.submit([answer(make, make.variable("gcn_1"), query="exponents")])

    (call,) = graphs.latest("frontier").values()
    (response,) = graphs.records()["responses"]
    assert call["id"] == leased
    assert (call["status"], call["code"], call["hits"], call["new_nodes"]) == ("done", 0, 1, 1)
    assert (call["response_id"], call["request"]["limit"]) == (response["id"], 5)
    assert "lease_by" not in call
    assert session.frontier.counts() == {"pending": 0, "leased": 0}


def test_a_failed_answer_fails_the_call_and_its_retry_is_ended_by_the_next(
    graphs, session, make, leased
):
    session.submit([make.payload(make.failure(), "a", query="exponents")])
    failed = session.frontier.find(leased)
    again = session.frontier.retry(leased)
    lease(session)
    session.submit([answer(make, make.variable("gcn_1"), file="b", query="exponents")])

    done = session.frontier.find(again)
    assert (failed["status"], failed["code"]) == ("failed", 290001)
    assert failed["message"] == "deadline exceeded"
    assert (done["status"], done["attempt"], done["retry_of"]) == ("done", 2, leased)
    assert len(graphs.latest("frontier")) == 2


def test_an_answer_may_name_the_call_that_it_ends(graphs, session, make):
    own = session.frontier.add({"paper_id": "7"}, item_kind="paper")
    lease(session)
    session.submit([answer(make, answers=own)])

    assert session.frontier.find(own)["status"] == "done"
    assert graphs.latest("frontier").keys() == {own}


def test_of_two_leased_calls_that_ask_the_same_the_answer_must_name_one(graphs, session, make):
    first = session.frontier.add({"text": "a", "channel": "support"})
    second = session.frontier.add({"text": "a", "channel": "conflict"})
    lease(session, 2)
    session.submit([answer(make, query="a")])
    still = session.frontier.counts()
    session.submit([answer(make, file="b", query="a", answers=second)])
    session.submit([answer(make, file="c", query="a")])

    statuses = [session.frontier.find(one)["status"] for one in (first, second)]
    calls = list(graphs.latest("frontier").values())
    assert still == {"pending": 0, "leased": 2}
    assert statuses == ["done", "done"]
    assert [one["status"] for one in calls] == ["done"] * 3


def test_a_call_is_ended_by_one_answer_and_only_while_it_is_leased(graphs, session, make, leased):
    waiting = session.frontier.add({"text": "later"})
    session.submit([answer(make, query="later")])
    session.submit([answer(make, file=one, query="exponents") for one in "bc"])

    calls = graphs.latest("frontier")
    assert calls[waiting]["status"] == "pending"
    assert calls[leased]["status"] == "done"
    assert len(calls) == 4


@pytest.mark.parametrize("within", ["one batch", "two batches"])
def test_what_answers_no_leased_call_is_refused_and_nothing_is_kept(
    graphs, session, make, leased, within
):
    first, second = (answer(make, file=one, answers=leased) for one in "ab")
    with pytest.raises(MalformedInputError) as unknown:
        session.submit([answer(make, answers="frontier_none")])
    if within == "two batches":
        session.submit([first])
    cursor = session.cursor
    with pytest.raises(StateConflictError):
        session.submit([first._replace(file="c"), second])

    assert unknown.value.path == "$.answers"
    assert session.cursor == cursor


def test_an_end_that_is_said_again_is_no_second_one(graphs, session, make, leased):
    session.submit([answer(make, make.variable("gcn_1"), query="exponents")])
    cursor = session.cursor

    again = session.frontier.done(leased, hits=1)

    assert (again["status"], session.cursor) == ("done", cursor)
    with pytest.raises(StateConflictError):
        session.frontier.done(leased, hits=2)
    with pytest.raises(StateConflictError):
        session.frontier.failed(leased)


def test_a_line_of_a_file_may_name_the_call_that_it_answers(
    graphs, session, make, leased, tmp_path
):
    line = {"payload": make.search(make.variable("gcn_1")), "answers": leased}
    file = tmp_path / "answers.ndjson"
    file.write_text(json.dumps(line) + "\n")
    list(session.submit_file(str(file)))

    assert session.frontier.find(leased)["status"] == "done"


def test_a_failed_call_is_tried_again_under_its_own_number(graphs, session):
    own = session.frontier.add({"text": "a"}, priority="high", dedup_key="k")
    lease(session)
    session.frontier.failed(own, code=290001, message="deadline exceeded")

    again = session.frontier.retry(own)

    found = graphs.latest("frontier")[again]
    assert (found["retry_of"], found["attempt"], found["dedup_key"]) == (own, 2, "k")
    assert found["request"] == {"text": "a"}
    assert session.frontier.retry(own) == again
    assert lease(session) == [again]
    with pytest.raises(StateConflictError):
        session.frontier.retry(again)


def test_what_was_skipped_out_of_turn_is_passed_over(session):
    ids = [session.frontier.add({"text": str(n)}) for n in range(4)]
    for one in ids[1:3]:
        session.frontier.skip(one, message="not worth it")

    assert lease(session, 4) == [ids[0], ids[3]]
    assert session.frontier.counts()["pending"] == 0


def test_no_more_are_leased_than_may_be(session, monkeypatch):
    monkeypatch.setattr(frontier, "LEASED_MAX", 2)
    for n in range(3):
        session.frontier.add({"text": str(n)})

    assert len(lease(session, 3)) == 2
    assert lease(session) == []


def test_what_is_no_call_or_no_lease_is_refused(session):
    for call in (
        lambda: session.frontier.add({}),
        lambda: session.frontier.add({"text": "a"}, item_kind="song"),
        lambda: session.frontier.add({"text": "a"}, priority="urgent"),
        lambda: session.frontier.lease(1),
        lambda: session.frontier.lease(1, until="tomorrow"),
        lambda: session.frontier.lease(1, until="2026-01-01"),
        lambda: session.frontier.lease(1, for_steps=1, now="noon"),
    ):
        session.frontier.add({"text": "there is one"})
        with pytest.raises(InputError):
            call()
    with pytest.raises(RecordNotFoundError):
        session.frontier.done("frontier_none")


def test_a_lane_of_thousands_costs_the_same_few_reads(session, reads):
    def fill(batch, numbers):
        for n in numbers:
            frontier.add(batch, {"text": str(n)})

    def cost():
        with reads(session) as counted:
            for one in lease(session, 2):
                session.frontier.done(one)
        return counted.count

    session.act(lambda batch: fill(batch, range(10)))
    few = cost()
    for start in range(10, 5_010, 1_000):
        session.act(lambda batch: fill(batch, range(start, start + 1_000)))  # noqa: B023

    assert session.frontier.counts()["pending"] == 5_008
    assert cost() == few
