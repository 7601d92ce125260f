import json
from itertools import count

import orjson
import pytest

from varvite.errors import (
    ForeignWriterError,
    InputError,
    InvalidIdError,
    InvalidRecordError,
    LimitError,
    StateConflictError,
    StorageError,
)
from varvite.records import limits
from varvite.session import journal
from varvite.testing import notes
from varvite.testing.notes import note


@pytest.fixture
def writer(store):
    with notes.writer(store) as writer:
        yield writer


def records(session):
    lines = (session / "events.ndjson").read_bytes().splitlines()
    return [record for line in lines if "seq" in (record := orjson.loads(line))]


def test_a_batch_costs_one_write_and_one_sync_and_reads_nothing(store, session):
    with notes.writer(store) as writer:
        writer.append([note(0), note(0, stream=notes.HIDDEN)])
        writer._state_due = float("inf")

        receipt = writer.append([{"stream": notes.HIDDEN, "value": n} for n in range(100)])

    cost = {"opens": 0, "reads": 0, "bytes_read": 0, "writes": 1, "syncs": 1}
    assert {name: receipt.io[name] for name in cost} == cost
    assert receipt.cursor == 102


def test_lines_begin_with_the_envelope_in_its_order(writer, session):
    writer.append([{"value": 1, "id": "n", "stream": "notes", "actor": "me"}])

    (record,) = records(session)

    assert list(record) == ["seq", "stream", "id", "rev", "prev_seq", "at", "actor", "value"]


def test_seq_is_gapless_over_all_streams_and_batches(writer, session):
    for size in (1, 3, 2):
        writer.append([note(n, stream=f"stream_{n}") for n in range(size)])

    assert [record["seq"] for record in records(session)] == [1, 2, 3, 4, 5, 6]


def test_revisions_count_and_point_back_within_a_batch_and_over_batches(writer, session):
    writer.append([note(1, id="a"), note(2, id="b"), note(3, id="a")])
    writer.append([note(4, id="a"), note(5, id="a", stream="other"), note(6)])

    found = [(r["stream"], r["id"], r["rev"], r["prev_seq"]) for r in records(session)]

    assert found == [
        ("notes", "a", 0, None),
        ("notes", "b", 0, None),
        ("notes", "a", 1, 1),
        ("notes", "a", 2, 3),
        ("other", "a", 0, None),
        ("notes", "notes-6", 0, None),
    ]


def test_unknown_fields_and_streams_survive_byte_for_byte(store, session):
    given = {
        "stream": "weather_2",
        "id": "x",
        "né": {"deep": [1, 2.5, -0.0, 1e300, None, True, {"": ""}]},
        "big": 2**63 - 1,
        "small": -(2**63),
        "text": '\u2028\u2029\x85\x00\x1f\\"/\U0001f701',
        "commit": {"crc": 1},
    }
    with notes.writer(store) as writer:
        writer.append([given])
        writer.seal()
    with notes.writer(store) as writer:
        writer.append([note(1)])
    notes.rebuild(store)

    line = (session / "weather_2.jsonl").read_bytes()
    kept = orjson.loads(line)

    assert {name: kept[name] for name in given} == given
    assert (session / "journal" / "000000000001.ndjson").read_bytes().count(line) == 1


def test_the_same_key_is_one_batch_before_and_after_reopening_and_rebuilding(store, session):
    with notes.writer(store) as writer:
        first = writer.append([note(1), note(2)], key="k")
        size = (session / "events.ndjson").stat().st_size
        again = writer.append([note("other")], key="k", expected_cursor=99)
        assert (session / "events.ndjson").stat().st_size == size
        writer.append([note(3)], key="l")
    for prepare in (lambda: None, lambda: notes.rebuild(store)):
        prepare()
        with notes.writer(store) as writer:
            later = writer.append([note(1), note(2)], key="k")
            assert (later.cursor, later.first, later.batch, later.at) == (2, 1, 1, first.at)
            assert later.replayed

    assert (again.cursor, again.first, again.batch, again.at) == (2, 1, 1, first.at)
    assert (again.replayed, first.replayed) == (True, False)
    assert notes.journal(store) == [(1, [1, 2]), (3, [3])]


@pytest.mark.parametrize("key", ["", "a\nb", "\ud800", "e\u0301", "k" * 257, "é" * 129, "\0"])
def test_a_key_that_could_not_be_kept_is_refused(writer, session, key):
    before = (session / "events.ndjson").read_bytes()

    with pytest.raises(InvalidIdError):
        writer.append([note(1)], key=key)

    assert (session / "events.ndjson").read_bytes() == before
    assert writer.append([note(1)], key="é" * 128).cursor == 1


def test_a_batch_built_on_an_old_cursor_is_refused_with_the_one_of_now(writer):
    writer.append([note(1), note(2)], expected_cursor=0)

    for wrong in (0, 1, 3, -1):
        with pytest.raises(StateConflictError) as caught:
            writer.append([note(3)], expected_cursor=wrong)
        assert (caught.value.cursor, caught.value.retryable) == (2, True)

    assert writer.append([note(3)], expected_cursor=2).cursor == 3


def test_clocks_are_data(store, session):
    times = count(start=100, step=-10)
    clock = lambda: f"2026-01-01T00:00:{next(times) % 60:02}.000000Z"  # noqa: E731
    with notes.writer(store, clock=clock) as writer:
        for number in range(3):
            writer.append([note(number)])

    assert [record["seq"] for record in records(session)] == [1, 2, 3]
    assert [record["at"][17:19] for record in records(session)] == ["40", "30", "20"]


def nested(depth):
    value = None
    for _ in range(depth):
        value = [value]
    return value


REFUSED = [
    (note(float("nan")), "notes[1].value"),
    (note(float("inf")), "notes[1].value"),
    (note([0, {"a": -float("inf")}]), "notes[1].value[1].a"),
    (note(2**63), "notes[1].value"),
    (note(-(2**63) - 1), "notes[1].value"),
    (note("\ud800"), "[1].value"),
    (note({"\udfff": 1}), "notes[1].value"),
    (note({"k" * 257: 1}), "notes[1].value"),
    (note({1: 1}), "notes[1].value"),
    (note(b"bytes"), "notes[1].value"),
    (note((1, 2)), "notes[1].value"),
    (note({1, 2}), "notes[1].value"),
    (note(nested(limits.DEPTH_MAX)), "notes[1].value" + "[0]" * (limits.DEPTH_MAX - 1)),
    (note("x" * limits.RECORD_BYTES_MAX), "[1]"),
    (note(1, seq=5), "[1].seq"),
    (note(1, rev=0), "[1].rev"),
    (note(1, prev_seq=None), "[1].prev_seq"),
    (note(1, at="2026-01-01T00:00:00Z"), "[1].at"),
    (note(1, stream=5), "[1].stream"),
    ({"value": 1}, "[1].stream"),
    (note(1, id=5), "notes.id"),
    (note(1, id="notes-7"), "notes.id"),
    (note(1, actor={"a": 1}), "[1].actor"),
    (note(1, actor=None), "[1].actor"),
]


@pytest.mark.parametrize(("record", "path"), REFUSED)
def test_a_refused_record_says_where_and_nothing_is_written(writer, session, record, path):
    before = (session / "events.ndjson").read_bytes()

    with pytest.raises(InputError) as caught:
        writer.append([note("good"), record, note("good")])

    assert caught.value.path == path[:200]
    assert isinstance(caught.value, InvalidRecordError | LimitError)
    assert (session / "events.ndjson").read_bytes() == before
    assert writer.append([note("next")]).cursor == 1
    assert [record["value"] for record in records(session)] == ["next"]


@pytest.mark.parametrize("name", ["", "A", "a-b", "../x", "é", "a" * 65, "1a", "_a", "a/b", "a.b"])
def test_a_stream_outside_the_grammar_is_refused(writer, name):
    with pytest.raises(InvalidIdError):
        writer.append([note(1, stream=name)])


@pytest.mark.parametrize("name", ["", "\n", "a\0b", "\ud800", "e\u0301", "x" * 257, "é" * 129])
def test_an_id_outside_the_grammar_is_refused(writer, name):
    with pytest.raises(InvalidIdError):
        writer.append([note(1, id=name)])


@pytest.mark.parametrize("given", [["text"], [None], [[note(1)]], [5]])
def test_what_is_no_record_is_refused(writer, given):
    with pytest.raises(InputError):
        writer.append(given)


def test_a_value_at_each_limit_is_taken_and_reads_back(store, session):
    deep = nested(limits.DEPTH_MAX - 1)
    values = [deep, 2**63 - 1, -(2**63), {"k" * 256: 1}, 1.7976931348623157e308, 5e-324, -0.0]
    with notes.writer(store) as writer:
        writer.append([note(value) for value in values])
        head = len((session / "events.ndjson").read_bytes().splitlines()[1])
        room = limits.RECORD_BYTES_MAX - head - 1
        assert room > 0
    fits = 0
    with notes.writer(store) as writer:
        for size in range(room - 500, room + 500, 25):
            try:
                fits += bool(writer.append([note("x" * size)]))
            except LimitError:
                break

    assert fits > 0
    assert notes.journal(store)[0] == (1, values)


def test_a_batch_over_its_limits_is_refused_whole(writer, session):
    before = (session / "events.ndjson").read_bytes()

    with pytest.raises(LimitError) as records_over:
        writer.append([note(1)] * (limits.BATCH_RECORDS_MAX + 1))
    with pytest.raises(LimitError) as bytes_over:
        writer.append([note("x" * 1_000_000)] * 17)
    with pytest.raises(InvalidRecordError):
        writer.append([])

    assert records_over.value.limit == limits.BATCH_RECORDS_MAX
    assert bytes_over.value.limit == limits.BATCH_BYTES_MAX
    assert (session / "events.ndjson").read_bytes() == before


def test_more_streams_than_a_header_can_name_are_refused(store, session):
    names = [f"s{number}" for number in range(journal.STREAMS_MAX)]
    with notes.writer(store) as writer:
        writer.append([note(1, stream=name) for name in names])
        with pytest.raises(LimitError) as caught:
            writer.append([note(1, stream="one_more")])
        writer.seal()
        writer.append([note(2, stream=names[0])])
    with notes.writer(store) as writer:
        with pytest.raises(LimitError):
            writer.append([note(1, stream="one_more")])
        assert writer.append([note(3, stream=names[-1])]).cursor == journal.STREAMS_MAX + 2

    assert caught.value.limit == journal.STREAMS_MAX


def test_a_fold_that_fails_leaves_the_batch_out(store):
    def fold(records, read):
        if any(record["value"] == "bad" for record in records):
            raise ZeroDivisionError
        return ()

    kind = notes.Kind("notes", ("notes",), frozenset(), fold, lambda read: {})
    with notes.Writer(store, notes.SESSION, kind) as writer:
        writer.append([note(1)])
        with pytest.raises(ZeroDivisionError):
            writer.append([note(2), note("bad")])
        writer.append([note(3)])

    assert notes.journal(store) == [(1, [1]), (2, [3])]


def test_a_summary_that_fails_never_fails_an_append(store):
    def summary(read):
        raise ZeroDivisionError

    kind = notes.Kind("notes", ("notes",), frozenset(), notes.fold, summary)
    writer = notes.Writer(store, notes.SESSION, kind)
    receipts = [writer.append([note(number)]).cursor for number in range(3)]
    with pytest.raises(ZeroDivisionError):
        writer.close()

    assert receipts == [1, 2, 3]
    assert notes.journal(store) == [(1, [0]), (2, [1]), (3, [2])]


def test_a_closed_session_says_so(store):
    writer = notes.writer(store)
    writer.close()
    writer.close()

    with pytest.raises(StorageError, match="closed"):
        writer.append([note(1)])
    with pytest.raises(StorageError, match="closed"):
        writer.seal()


def test_what_somebody_else_writes_below_a_writer_is_seen_before_the_next_byte(store, session):
    def grown(path):
        path.write_bytes(path.read_bytes() + b"x")

    def shorter(path):
        path.write_bytes(path.read_bytes()[:-1])

    def replaced(path):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)

    def gone(path):
        path.unlink()

    path = session / "events.ndjson"
    for meddle in (grown, shorter, replaced, gone):
        writer = notes.writer(store)
        writer.append([note(1)])
        good = path.read_bytes()
        meddle(path)
        before = path.read_bytes() if path.exists() else None
        with pytest.raises(ForeignWriterError):
            writer.append([note(2)])
        with pytest.raises(ForeignWriterError):
            writer.seal()
        with pytest.raises(ForeignWriterError):
            writer.close()
        assert (path.read_bytes() if path.exists() else None) == before
        path.write_bytes(good)


def test_epochs_count_the_writers(store, session):
    for number in range(3):
        with notes.writer(store) as writer:
            writer.append([note(number)])
            writer.seal()

    with store.folder(notes.SESSION) as folder:
        epochs = [batch.commit.epoch for batch in notes.parts.batches(folder)]
    assert epochs == [1, 2, 3]


def test_the_journal_is_plain_json_lines(store, session):
    with notes.writer(store) as writer:
        writer.append([note("é")], key="k")

    lines = (session / "events.ndjson").read_text(encoding="utf-8").splitlines()
    kinds = [sorted(json.loads(line)) for line in lines]

    assert kinds[0] == ["journal"]
    assert kinds[2] == ["commit"]
