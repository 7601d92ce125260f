import json

import pytest

from varvite.errors import InputError, LimitError, MalformedInputError, StateConflictError
from varvite.graph import session as sessions
from varvite.samples import search


def test_a_key_used_twice_returns_the_first_receipt(graphs, make):
    first_given = [make.payload(make.search(make.variable("gcn_1")), "a")]
    with graphs.new() as session:
        first = session.submit(first_given, key="k")
        session.submit([make.payload(make.search(make.variable("gcn_2")), "b")])
        again = session.submit([make.payload({"not": "looked at"})], key="k")

    assert again.replayed
    assert (again.cursor, again.counts) == (first.cursor, first.counts)
    assert len(graphs.records()["responses"]) == 2


def test_an_expected_cursor_that_is_not_the_sessions_refuses_the_batch(graphs, make):
    given = [make.payload(make.search(make.variable("gcn_1")))]
    with graphs.new() as session:
        with pytest.raises(StateConflictError):
            session.submit(given, expected_cursor=7)

        assert session.submit(given, expected_cursor=0).new == 1


def test_each_batch_is_one_event_with_its_counts_and_the_totals(graphs, make):
    with graphs.new() as session:
        for name in "ab":
            session.submit([make.payload(make.search(make.variable("gcn_1")), name)])
        status = session.status()

    events = graphs.records()["events"]
    assert [event["payload"]["counts"]["new"] for event in events] == [1, 0]
    assert [event["payload"]["totals"]["hits"] for event in events] == [1, 2]
    assert events[-1]["payload"]["totals"].items() <= status.items()


def test_a_batch_of_nothing_new_is_not_committed(graphs, make):
    given = [make.payload(make.search(make.variable("gcn_1")))]
    with graphs.new() as session:
        first = session.submit(given)
        again = session.submit(given)
        nothing = session.submit([])

    assert again.cursor == nothing.cursor == first.cursor
    assert (again.repeated, again.io, nothing.repeated) == (1, {}, 0)


def test_what_was_repeated_is_told_and_not_added_up(graphs, make):
    given = [make.payload(make.search(make.variable("gcn_1")), name) for name in "ab"]
    with graphs.new() as session:
        session.submit(given[:1])
        receipt = session.submit(given)

        assert receipt.repeated == 1
        assert "repeated" not in session.status()
    assert "repeated" not in graphs.records()["events"][-1]["payload"]["totals"]


def test_a_batch_of_too_many_records_is_refused_with_the_remedy(graphs, make):
    variables = [make.variable(f"gcn_{number}") for number in range(1000)]
    given = [make.payload(make.search(*variables), name) for name in "abcdefghijk"]
    with graphs.new() as session:
        with pytest.raises(LimitError) as caught:
            session.submit(given)

        assert session.cursor == 0
    assert "fewer responses" in caught.value.hint


def test_a_batch_of_too_many_bytes_is_refused_with_the_remedy(graphs, make):
    content = "x" * 400_000
    given = [
        make.payload(make.search(make.variable(f"gcn_{number}", content=content)), str(number))
        for number in range(24)
    ]
    with graphs.new() as session:
        with pytest.raises(LimitError) as caught:
            session.submit(given)

        assert session.cursor == 0
    assert "fewer responses" in caught.value.hint


@pytest.fixture
def sample_file(tmp_path):
    file = tmp_path / "sample.ndjson"
    file.write_bytes(b"".join(one.line() for one in search.responses(5, 600)))
    return str(file)


def test_a_file_is_submitted_a_few_responses_a_batch_and_never_splits_one(graphs, sample_file):
    with graphs.new() as session:
        receipts = list(session.submit_file(sample_file, responses_per_batch=3))

    taken = [receipt.counts["responses"] for receipt in receipts]
    assert set(taken[:-1]) == {3}
    assert 1 <= taken[-1] <= 3


def test_large_responses_go_in_smaller_batches(graphs, sample_file, monkeypatch):
    monkeypatch.setattr(sessions, "_RAW_BYTES_PER_BATCH", 1)
    with graphs.new() as session:
        receipts = list(session.submit_file(sample_file))

    assert {receipt.counts["responses"] for receipt in receipts} == {1}


def test_a_file_cut_short_goes_on_where_it_stopped(graphs, sample_file):
    with graphs.new("whole") as session:
        list(session.submit_file(sample_file))
        whole = session.status()
    with graphs.new("cut") as session:
        started = session.submit_file(sample_file)
        next(started)
        next(started)
    with graphs.open("cut") as session:
        receipts = list(session.submit_file(sample_file))
        cut = session.status()

    assert cut | {"session_id": "whole"} == whole
    assert sum(receipt.repeated for receipt in receipts) == 2 * sessions.RESPONSES_PER_BATCH


def test_a_bad_line_stops_a_file_and_leaves_the_batches_before_it(graphs, tmp_path, make):
    lines = [json.dumps(make.search(make.variable(f"gcn_{number}"))) for number in range(3)]
    file = tmp_path / "x.ndjson"
    file.write_text("\n".join([*lines, "{", *lines]))
    with graphs.new() as session:
        with pytest.raises(MalformedInputError) as caught:
            list(session.submit_file(str(file), responses_per_batch=2))

        assert session.status()["responses"] == 2
    assert caught.value.line == 4


def test_a_step_reads_no_file_and_syncs_nothing_more_as_the_session_grows(graphs, make):
    def step(session, name):
        return session.submit([make.payload(make.search(make.variable(name)), name)]).io

    with graphs.new() as session:
        small = step(session, "first")
        session.submit([one.payload() for one in search.responses(5, 600)])
        large = step(session, "last!")

    counted = ("opens", "reads", "bytes_read", "syncs")
    assert [large[name] for name in counted] == [0, 0, 0, 0]
    assert small["bytes_read"] == 0


def test_responses_that_make_too_many_records_together_go_in_smaller_batches(
    graphs, make, monkeypatch, tmp_path
):
    monkeypatch.setattr(sessions, "BATCH_RECORDS_MAX", 20)
    file = tmp_path / "three.ndjson"
    found = [make.search(*(make.variable(f"gcn_{a}{n}") for n in range(4))) for a in "abc"]
    file.write_text("".join(json.dumps(one) + "\n" for one in found))

    with graphs.new() as session:
        receipts = list(session.submit_file(str(file)))

    assert [(receipt.counts["responses"], receipt.new) for receipt in receipts] == [
        (1, 4), (1, 4), (1, 4),
    ]  # fmt: skip


def test_a_response_that_is_too_large_alone_is_refused_with_its_place(
    graphs, make, monkeypatch, tmp_path
):
    monkeypatch.setattr(sessions, "BATCH_RECORDS_MAX", 20)
    file = tmp_path / "two.ndjson"
    found = [make.search(*(make.variable(f"gcn_{n}") for n in range(count))) for count in (2, 40)]
    lines = [json.dumps(one) + "\n" for one in found]
    file.write_text("".join(lines))

    with graphs.new() as session:
        with pytest.raises(LimitError) as caught:
            list(session.submit_file(str(file)))

        assert session.status()["new"] == 2
    place = {name: caught.value.data[name] for name in ("file", "line", "offset")}
    assert place == {"file": str(file), "line": 2, "offset": len(lines[0])}
    assert caught.value.message.startswith(f"{file}:2: the payloads make a batch of ")


@pytest.mark.parametrize("given", [[{"id": "a", "content": "x"}], {"query": "x"}, ["{}"]])
def test_hits_that_were_not_made_a_payload_are_refused_with_the_way_to_make_one(graphs, given):
    with graphs.new() as session:
        with pytest.raises(InputError, match="a payload is expected, not a") as caught:
            session.submit(given)

        assert session.cursor == 0
    assert "from_hits" in caught.value.hint
