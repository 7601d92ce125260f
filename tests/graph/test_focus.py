import pytest

from varvite.errors import InputError, LimitError, RecordNotFoundError
from varvite.graph import focus, queue
from varvite.graph.batch import Batch
from varvite.graph.changes import BucketChange
from varvite.graph.fold import fold
from varvite.graph.parameters import Parameters


def node(name, **fields):
    made = {"node_kind": "variable", "variable_type": "claim", "content": name}
    return {"id": f"variable_{name}"} | made | fields


def changed(bucket="b", before="thin", after="thin", new=(), *, controversy=False):
    return BucketChange(bucket, before, after, list(new), controversy)


@pytest.fixture
def settled(graphs, make):
    """A session whose one focus, on bucket `b`, has nothing to do."""
    with graphs.new() as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1")])
        session.assess(session.packets()[0], [])
        yield session


def plan(session, *changes, **fields):
    parameters = Parameters.of(session.parameters.as_dict() | fields)
    return focus.plan(changes, Batch(session.look, fold), parameters, session.cursor)


def the_focus(plan):
    (found,) = [one for one in plan.records if one["stream"] == "focuses"]
    return found


def test_a_bucket_without_a_focus_gets_a_candidate_one(graphs, make):
    with graphs.new() as session:
        session.open_bucket("Scaling laws", bucket_id="b")
        receipt = session.submit([make.hits("gcn_1")])

    (made,) = graphs.latest("focuses").values()
    assert made["question"] == "What is established about Scaling laws?"
    assert (made["status"], made["bucket_ids"], made["queued"]) == ("candidate", ["b"], True)
    assert receipt.touched["focuses"] == [made["id"]]


def test_a_bucket_that_is_out_of_scope_gets_none(settled):
    assert plan(settled, changed("other", None, "out_of_scope")).records == []


@pytest.mark.parametrize(
    ("change", "trigger"),
    [
        (changed(after="covered"), "coverage_changed"),
        (changed(controversy=True), "controversy"),
        (changed(new=[node("x", score=0.5)]), "strong_evidence"),
    ],
)
def test_each_trigger_touches_the_focus_and_is_on_its_record(settled, change, trigger):
    found = the_focus(plan(settled, change))

    assert found["triggers"] == [trigger]
    assert found["cause"]["trigger"] == trigger
    assert found["cause"]["ref"] == ("variable_x" if trigger == "strong_evidence" else "b")
    assert found["touched_seq"] == settled.cursor


def test_several_triggers_are_all_told_and_the_first_is_the_cause(settled):
    change = changed(after="covered", controversy=True, new=[node("x")])

    found = the_focus(plan(settled, change))

    assert found["triggers"] == ["coverage_changed", "controversy", "strong_evidence"]
    assert found["cause"] == {"trigger": "coverage_changed", "ref": "b"}


def test_a_change_that_fires_no_trigger_changes_no_focus(settled):
    weak = changed(new=[node("x", score=0.1)])

    assert plan(settled, changed()).records == []
    assert plan(settled, weak, strong_score=0.2).records == []


def test_only_the_focuses_of_the_changed_buckets_are_touched(graphs, make):
    with graphs.new() as session:
        for bucket in "abc":
            session.open_bucket(bucket, bucket_id=bucket)
        ids = {one: session.open_focus(f"what of {one}?", bucket_ids=[one]) for one in "abc"}
        both = session.open_focus("what of a and b?", bucket_ids=["a", "b"])

        receipt = session.submit([make.hits("gcn_1", buckets=["a"])])

    touched = set(receipt.touched["focuses"])
    assert {ids["a"], both} <= touched
    assert not touched & {ids["b"], ids["c"]}


def test_a_focus_left_open_too_long_by_an_obligation_is_touched_at_that_step(graphs, make):
    with graphs.new(overdue_after=2) as session:
        own = session.open_focus("what of it?")
        due = session.obligations.open("answer it", target_kind="focus", target_id=own)
        touched = [
            session.submit([make.hits(f"gcn_{n}", buckets=[])]).touched["focuses"] for n in range(5)
        ]
        found = focus.load(session.look, own)

    assert touched == [[], [own], [], [own], []]
    assert found["triggers"] == ["obligation_overdue"]
    assert found["cause"] == {"trigger": "obligation_overdue", "ref": due}
    assert found["features"]["overdue"] == 2


def test_a_controversy_is_forgotten_once_the_packet_is_assessed(graphs, settled, make):
    draft = make.hits("gcn_2", role="conflict")
    settled.submit([draft])
    before = focus.load(settled.look, settled.packets()[0].focus_id)
    settled.assess(settled.packets()[0], [])

    after = focus.load(settled.look, graphs.records()["focuses"][-1]["id"])
    assert before["features"]["controversy"]
    assert not after["features"]["controversy"]


def test_a_closed_focus_is_left_alone_and_not_made_again(settled, make):
    own = queue.waiting(settled.look)[0].focus_id
    settled.set_focus(own, status="closed")

    receipt = settled.submit([make.hits("gcn_2")])

    assert receipt.touched["focuses"] == []
    assert queue.waiting(settled.look) == []


def test_a_deferred_focus_waits_not_and_has_its_evidence_when_it_is_taken_up_again(settled, make):
    own = queue.waiting(settled.look)[0].focus_id
    settled.set_focus(own, status="deferred")

    receipt = settled.submit([make.hits("gcn_2")])
    deferred = (queue.waiting(settled.look), settled.packets())
    settled.set_focus(own, status="accepted")
    (packet,) = settled.packets()

    assert receipt.touched["focuses"] == [own]
    assert deferred == ([], [])
    assert [one["id"] for one in packet.evidence if one["new"]] == ["gcn_2"]


def test_the_queue_is_bounded_and_what_falls_out_is_still_a_record(graphs):
    with graphs.new(queue=3) as session:
        ids = [session.open_focus(f"question {n}?") for n in range(3)]
        high = session.open_focus("a pressing one?", priority="high")
        low = session.open_focus("a minor one?", priority="low")
        waiting = [one.focus_id for one in queue.waiting(session.look)]

    focuses = graphs.latest("focuses")
    assert waiting == [high, ids[2], ids[1]]
    assert [one for one in focuses if focuses[one]["queued"]] == [ids[1], ids[2], high]
    assert {ids[0], low} <= focuses.keys()
    rows = graphs.sql("select focus_id from focus_queue order by place").rows()
    assert rows == [(one,) for one in waiting]


def test_what_fell_out_comes_back_when_it_is_touched_and_presses_more(graphs):
    with graphs.new(queue=1) as session:
        first = session.open_focus("first?")
        second = session.open_focus("second?")
        session.set_focus(first, priority="high")
        waiting = [one.focus_id for one in queue.waiting(session.look)]

    assert waiting == [first]
    assert not graphs.latest("focuses")[second]["queued"]


def test_of_equals_the_one_touched_last_comes_first(graphs):
    with graphs.new() as session:
        ids = [session.open_focus(f"question {n}?") for n in range(3)]
        session.set_focus(ids[0], priority="medium")

        waiting = [one.focus_id for one in queue.waiting(session.look)]

    assert waiting == [ids[0], ids[2], ids[1]]


def test_a_bucket_has_room_for_so_many_focuses_and_says_so(graphs):
    with graphs.new(focuses_per_bucket=2) as session:
        session.open_bucket("Scaling", bucket_id="b")
        for n in range(9):
            session.open_bucket(f"bucket number {n}", bucket_id=str(n), role="out_of_scope")
        own = session.open_focus("question?", bucket_ids=["b"])
        with pytest.raises(LimitError) as caught:
            session.open_focus("one more?", bucket_ids=["b"])
        with pytest.raises(LimitError):
            session.open_focus("of everything?", bucket_ids=[str(n) for n in range(9)])
        session.open_focus("question?", bucket_ids=["b"])
        session.set_focus(own, status="closed")
        session.open_focus("one more?", bucket_ids=["b"])

        with pytest.raises(LimitError):
            session.set_focus(own, status="candidate")

    assert (caught.value.limit, caught.value.hint) == (2, "close one of them")


def test_a_focus_begins_with_the_exemplars_of_its_buckets(graphs, make):
    with graphs.new(exemplars=2) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([make.hits("gcn_1", "gcn_2", "gcn_3")])
        own = session.open_focus("what of it?", bucket_ids=["b"], priority="high")
        packet = session.packets()[0]
        found = focus.load(session.look, own)
        with pytest.raises(RecordNotFoundError):
            session.open_focus("what of nothing?", bucket_ids=["none"])

    assert (packet.focus_id, len(packet.evidence)) == (own, 2)
    assert {one["content"] for one in packet.evidence} <= {f"what gcn_{n} says" for n in (1, 2, 3)}
    assert found["features"]["coverage"] == {"b": graphs.latest("buckets")["b"]["coverage_status"]}


def test_the_same_question_is_the_same_focus(graphs):
    with graphs.new() as session:
        first = session.open_focus("what of it?", priority="low")
        again = session.open_focus(" what of it? ", priority="high", rationale="it presses")

    (found,) = graphs.latest("focuses").values()
    assert first == again == found["id"]
    assert (found["priority"], found["rationale"], found["rev"]) == ("high", "it presses", 1)


def test_words_that_are_none_are_refused(graphs):
    with graphs.new() as session:
        own = session.open_focus("what of it?")
        for call in (
            lambda: session.open_focus(" "),
            lambda: session.open_focus("q?", priority="urgent"),
            lambda: session.set_focus(own, status="done"),
        ):
            with pytest.raises(InputError):
                call()
        with pytest.raises(RecordNotFoundError):
            session.set_focus("focus_none", status="closed")


def test_an_accepted_focus_is_planned_as_gaias_focus_once(graphs):
    with graphs.new() as session:
        own = session.open_focus("what of it?")
        for status in ("accepted", "deferred", "accepted"):
            session.set_focus(own, status=status)

    (planned,) = graphs.records()["projections"]
    assert (planned["kind"], planned["subject_id"]) == ("focus_set", own)
    assert planned["payload"] == {"question": "what of it?"}


def test_the_index_has_the_ties_that_the_records_have(graphs, make):
    with graphs.new() as session:
        for bucket in "ab":
            session.open_bucket(bucket, bucket_id=bucket, role="out_of_scope")
        own = session.open_focus("what of both?", bucket_ids=["a", "b"])
        other = session.open_focus("what of b?", bucket_ids=["b"])
        due = session.obligations.open("answer it", target_kind="focus", target_id=own)
        session.set_focus(other, status="closed")
        read = Batch(session.look, fold).read

        assert focus.load(read, own)["bucket_ids"] == ["a", "b"]
        assert read("bucket_focuses", "a") == f'["{own}"]'.encode()
        assert read("bucket_focuses", "b") == f'["{own}"]'.encode()
        assert read("obligation_focus", due) == own.encode()
