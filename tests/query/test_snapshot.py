"""Which rows a question sees: sessions, moments, and what happens to the files meanwhile."""

import os
import random
import shutil
import time
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

import varvite
from varvite.disk.files import Files, Folder
from varvite.errors import (
    CorruptError,
    InputError,
    InvalidIdError,
    QueryError,
    SessionNotFoundError,
)
from varvite.graph.session import GRAPH
from varvite.query import catalog
from varvite.query.snapshot import Snapshot
from varvite.segments.manifest import Manifest, latest
from varvite.segments.sweep import gc
from varvite.session.writer import Writer
from varvite.testing import mixed

ALL = "select session_id, seq, stream from records order by all"
ROWS = "select session_id, seq, stream from streams.events order by all"


def note(text="x", **fields):
    return {"stream": "events", "type": "noted", "payload": {"text": text}} | fields


class Ticking:
    """A clock that the test sets."""

    def __init__(self):
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def append(store, session_id, batch, **options):
    if not store.exists(session_id):
        store.graph(session_id, create=True).close()
    with store._folder() as folder, Writer(folder, session_id, GRAPH, level="fast", **options) as w:
        return w.append(batch)


def rows(store, journal, cut):
    """(session, seq, stream) of the records up to a cursor a session, by plain reading."""
    return sorted(
        (name, record["seq"], record["stream"])
        for name, cursor in cut.items()
        for last, records in journal(store, name)
        if last <= cursor
        for record in records
    )


def test_a_question_is_fresh_to_the_last_commit_of_an_open_session(store):
    with store.graph("g", create=True) as session:
        for expected in range(1, 4):
            session._writer.append([note()])

            assert store.sql("select count(*) from events").rows() == [(expected,)]
            if expected == 2:
                store.compact()


def test_an_open_snapshot_stays_at_its_moment(store):
    append(store, "g", [note()])
    with store._folder() as folder, Snapshot(folder) as snapshot:
        append(store, "g", [note()])
        append(store, "other", [note()])

        assert snapshot.ask(ROWS).rows() == [("g", 1, "events")]
        append(store, "g", [note()])
        assert snapshot.ask("select count(*) from events").rows() == [(1,)]
        assert snapshot.ask("select session_id, cursor from sessions").rows() == [("g", 1)]


@pytest.mark.parametrize("compacted", [False, True])
def test_every_cursor_gives_the_rows_of_its_prefix(tmp_path, journal, compacted):
    store = varvite.open(tmp_path)
    chance = random.Random(1)
    for turn in range(7):
        batch = [note(str(n)) for n in range(chance.randint(1, 4))]
        node = {"stream": "nodes", "id": f"n{turn % 5}", "node_kind": "variable"}
        append(store, "g", [*batch, node])
        if compacted and turn in {2, 3, 5}:
            store.compact()

    cursors = [0, *(last for last, _ in journal(store, "g"))]

    assert len(cursors) == 8
    for cursor in cursors:
        found = store.sql(ALL, as_of=cursor).rows()
        assert found == rows(store, journal, {"g": cursor})
        latest = {}
        for last, records in journal(store, "g"):
            latest |= {
                one["id"]: one["seq"]
                for one in records
                if last <= cursor and one["stream"] == "nodes"
            }
        assert store.sql("select id, seq from nodes order by seq", as_of=cursor).rows() == sorted(
            latest.items(), key=lambda pair: pair[1]
        )
        assert store.sql("select cursor from sessions", as_of=cursor).rows() == [(cursor,)]


@pytest.mark.parametrize("compacted", [False, True])
def test_a_seq_inside_a_batch_is_no_cursor(store, compacted):
    for size in (3, 1, 4):
        append(store, "g", [note() for _ in range(size)])
    if compacted:
        store.compact()

    for seq in (1, 2, 5, 6, 7):
        with pytest.raises(InputError) as caught:
            store.sql(ROWS, as_of=seq)
        assert caught.value.hint in {
            "0 is before that batch, 3 is after it",
            "4 is before that batch, 8 is after it",
        }
    for cursor in (0, 3, 4, 8):
        assert len(store.sql(ROWS, as_of=cursor)) == cursor


@pytest.mark.parametrize("cursor", [-1, 4, 2**70])
def test_a_cursor_that_was_never_committed_is_refused(store, cursor):
    append(store, "g", [note(), note(), note()])

    with pytest.raises(InputError) as caught:
        store.sql(ROWS, as_of=cursor)

    assert caught.value.hint == "its cursors go from 0 to 3"


def test_a_receipt_is_a_moment(store):
    receipt = append(store, "g", [note(), note()])
    append(store, "g", [note()])

    assert len(store.sql(ROWS, as_of=receipt)) == 2


def test_a_cursor_a_session_cuts_those_and_shows_the_others_whole(store, journal):
    for turn in range(4):
        for name in ("a", "b", "c"):
            append(store, name, [note(str(turn)), note()])
        if turn == 1:
            store.compact()

    for a in (0, 2, 8):
        for b in (4, 6):
            found = store.sql(ROWS, as_of={"a": a, "b": b}).rows()
            assert found == rows(store, journal, {"a": a, "b": b, "c": 8})


def test_a_bare_cursor_is_refused_for_several_sessions_and_a_pair_for_one_not_asked(store):
    append(store, "a", [note()])
    append(store, "b", [note()])

    with pytest.raises(InputError, match="of which of 2 sessions"):
        store.sql(ROWS, as_of=1)
    with pytest.raises(InputError, match="no session 'b' among those asked"):
        store.sql(ROWS, as_of={"b": 1}, sessions=["a"])
    assert store.sql(ROWS, as_of=1, sessions=["a"]).rows() == [("a", 1, "events")]


@pytest.mark.parametrize("compacted", [False, True])
def test_a_time_shows_what_each_session_had_committed_by_then(store, journal, compacted):
    clock, marks = Ticking(), []
    for turn in range(4):
        clock.moment += timedelta(seconds=10)
        append(store, "ab"[turn % 2], [note(), note()], clock=clock)
        cut = {name: (journal(store, name) or [(0,)])[-1][0] for name in "ab"[: turn + 1]}
        marks.append((clock.moment, cut))
        if compacted and turn in {1, 2}:
            store.compact()

    for moment, cut in marks:
        for later in (timedelta(0), timedelta(seconds=9.999999)):
            at = moment + later
            expected = rows(store, journal, cut)
            east = at.astimezone(timezone(timedelta(hours=5, minutes=30)))
            assert store.sql(ROWS, as_of=east.isoformat()).rows() == expected
    first = marks[0][0]
    assert store.sql(ROWS, as_of=first - timedelta(microseconds=1)).rows() == []
    assert store.sql(ROWS, as_of="0001-01-01").rows() == []
    assert len(store.sql(ROWS, as_of="9999-12-31T23:59:59Z")) == 8


def test_a_time_may_be_a_datetime_or_iso_text_of_any_zone():
    noon = datetime(2026, 1, 31, 12, 30, tzinfo=UTC)
    east = noon.astimezone(timezone(timedelta(hours=5, minutes=30)))

    forms = (noon, noon.replace(tzinfo=None), east, noon.isoformat(), "2026-01-31T12:30Z")

    with Folder(Files(), "/") as root:
        for form in (*forms, east.isoformat(), "2026-01-31 12:30"):
            assert catalog.cutoffs(root, form, []) == "2026-01-31T12:30:00.000000Z"


def test_a_time_without_a_zone_is_utc_wherever_the_process_runs(store, monkeypatch):
    clock = Ticking()
    clock.moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    append(store, "g", [note()], clock=clock)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert len(store.sql(ROWS, as_of="2026-01-01T11:59:59")) == 0
        assert len(store.sql(ROWS, as_of="2026-01-01T12:00")) == 1
        (found,) = store.sql("select committed_at from records").rows()
        assert found[0] == clock.moment
        assert str(store.sql("from records").arrow().schema.field("committed_at").type) == (
            "timestamp[us, tz=UTC]"
        )
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-01", "12", "0001-01-01T00:00+14:00"])
def test_what_is_no_time_is_refused(store, text):
    append(store, "g", [note()])

    with pytest.raises(InputError, match="is no time"):
        store.sql(ROWS, as_of=text)


def test_only_the_sessions_that_are_asked_are_there(fresh, layered):
    for store in (fresh, layered):
        everything = store.sql(ALL).rows()
        for asked in ([], ["odd"], ["speed", "search"], ["nothing"], ["odd", "odd"]):
            found = store.sql(ALL, sessions=asked).rows()

            assert found == [row for row in everything if row[0] in asked]
            shown = store.sql("select session_id from sessions order by all", sessions=asked)
            assert [name for (name,) in shown.rows()] == sorted(set(asked))


def test_a_session_that_is_asked_and_is_not_there_is_an_error(fresh):
    with pytest.raises(SessionNotFoundError):
        fresh.sql(ROWS, sessions=["odd", "missing"])
    with pytest.raises(InvalidIdError):
        fresh.sql(ROWS, sessions=["../odd"])


def test_sealing_and_archiving_parts_changes_no_row(store, journal):
    with store.graph("g", create=True, level="fast") as session:
        writer = session._writer
        for turn in range(9):
            writer.append([note(str(turn)), note()])
            writer.seal()
            if turn in {2, 5}:
                store.compact()
            cursor = writer.cursor

            assert store.sql(ROWS).rows() == rows(store, journal, {"g": cursor})
            assert store.sql(ROWS, as_of=cursor - 2).rows() == rows(
                store, journal, {"g": cursor - 2}
            )
    assert [name for name in os.listdir(f"{store.path}/g/journal") if name.endswith(".zst")]


def test_a_snapshot_taken_before_a_part_is_sealed_and_archived_reads_on(store):
    with store.graph("g", create=True, level="fast") as session:
        session._writer.append([note(), note()])
        with store._folder() as folder, Snapshot(folder) as snapshot:
            session._writer.seal()
            session._writer.append([note()])
            session._writer.seal()
            store.compact()

            assert snapshot.ask(ROWS).rows() == [("g", 1, "events"), ("g", 2, "events")]


def test_a_connection_lives_on_when_its_store_is_gone(store):
    mixed.fill(store, records=60)
    expected = {name: store.sql(f"select * from {name} order by all").rows() for name in VIEWS}
    connection = store.connect()
    append(store, "odd", [note()])
    shutil.rmtree(store.path)

    for name in VIEWS:
        assert connection.sql(f"select * from {name} order by all").fetchall() == expected[name]
    assert connection.sql("select count(*) from streams.weather").fetchall() == [(3,)]
    connection.close()


VIEWS = ("records", "nodes", "edges", "events", "runs", "best_runs", "experiment_sessions")


def test_a_connection_takes_the_same_moment_and_sessions(store):
    for name in ("a", "b"):
        append(store, name, [note()])
        append(store, name, [note()])

    with store.connect(sessions=["a"], as_of=1) as connection:
        assert connection.sql(ROWS).fetchall() == [("a", 1, "events")]
    with store.connect(as_of={"b": 1}) as connection:
        assert connection.sql("select count(*) from events").fetchall() == [(3,)]


@pytest.fixture
def torn(store):
    """A session of one batch, and the bytes of the next one, which is not there."""
    append(store, "g", [note()])
    file = f"{store.path}/g/events.ndjson"
    size = os.path.getsize(file)
    shutil.copytree(store.path, f"{store.path}.copy")
    append(varvite.open(f"{store.path}.copy"), "g", [note(), note("\u00e9"), note()])
    with open(f"{store.path}.copy/g/events.ndjson", "rb") as stream:
        return file, size, stream.read()[size:]


def test_a_batch_that_is_being_written_is_not_listed_at_any_byte(store, torn):
    file, size, block = torn

    with open(file, "r+b") as journal, store._folder() as folder:
        for cut in range(len(block) + 1):
            journal.truncate(size)
            journal.seek(size)
            journal.write(block[:cut])
            journal.flush()

            (one,) = catalog.sessions(folder, Manifest(), None)
            assert one.cursor == (4 if cut == len(block) else 1), cut


def test_a_connection_joins_the_callers_own_frames(store):
    append(store, "g", [note()])
    mine = pl.DataFrame({"seq": [1], "mark": ["!"]})

    with store.connect() as connection:
        found = connection.sql("select mark from events join mine using (seq)").fetchall()

    assert (found, len(mine)) == ([("!",)], 1)


def test_a_line_that_is_being_written_is_never_seen(store, torn):
    file, size, block = torn
    ends = [at + 1 for at in range(len(block)) if block[at] == 10]

    for cut in (*ends[:-1], *(end - 1 for end in ends), ends[0] + 1, len(block) // 2):
        with open(file, "r+b") as journal:
            journal.truncate(size)
            journal.seek(size)
            journal.write(block[:cut])

        assert store.sql(ROWS).rows() == [("g", 1, "events")]


def test_a_directory_that_was_renamed_is_read_under_its_new_name(store):
    append(store, "g", [note()])
    append(store, "g", [note()])
    os.rename(f"{store.path}/g", f"{store.path}/h")

    assert len(store.sql(ROWS)) == 2
    assert len(store.sql(ROWS, sessions=["h"], as_of={"h": 1})) == 1
    store.compact()
    assert len(store.sql(ROWS)) == 2


def test_a_copied_directory_is_refused_not_counted_twice(store):
    append(store, "g", [note()])
    shutil.copytree(f"{store.path}/g", f"{store.path}/h")

    with pytest.raises(CorruptError, match="h is a copy of g"):
        store.sql(ROWS)
    assert len(store.sql(ROWS, sessions=["h"])) == 1


def test_a_journal_that_ends_before_its_segments_is_refused(store):
    append(store, "g", [note()])
    shutil.copytree(f"{store.path}/g", f"{store.path}/.older")
    append(store, "g", [note()])
    store.compact()
    shutil.rmtree(f"{store.path}/g")
    os.rename(f"{store.path}/.older", f"{store.path}/g")

    with pytest.raises(CorruptError, match="segments hold seqs up to 2"):
        store.sql(ROWS)


def test_a_damaged_session_stops_only_the_questions_that_see_it(store):
    append(store, "good", [note()])
    append(store, "bad", [note(), note()])
    append(store, "bad", [note()])
    with open(f"{store.path}/bad/session.json", "r+b") as stream:
        stream.write(b"?")

    with pytest.raises(CorruptError) as caught:
        store.sql(ROWS)
    assert caught.value.file.endswith("bad/session.json")
    assert len(store.sql(ROWS, sessions=["good"])) == 1


def test_asking_changes_no_file_of_the_store(fresh, layered):
    for store in (fresh, layered):
        before = seen(store.path)
        store.sql(ROWS)
        store.sql("from best_runs", as_of="2030-01-01")
        store.connect().close()

        assert seen(store.path) == before


def seen(path):
    return {
        os.path.join(folder, name): os.stat(os.path.join(folder, name)).st_mtime_ns
        for folder, _, names in os.walk(path)
        for name in names
    }


def test_a_store_that_may_only_be_read_answers(store):
    append(store, "g", [note()])
    store.compact()
    append(store, "g", [note()])
    for folder, _, names in os.walk(store.path):
        os.chmod(folder, 0o500)
        for name in names:
            os.chmod(os.path.join(folder, name), 0o400)
    try:
        assert len(store.sql(ROWS)) == 2
    finally:
        for folder, _, _ in os.walk(store.path):
            os.chmod(folder, 0o700)


def test_a_closed_snapshot_leaves_no_file_open(store):
    append(store, "g", [note()])
    store.compact()
    append(store, "g", [note()])
    store.sql(ROWS)
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(3):
        store.sql(ROWS)
        with pytest.raises(InputError):
            store.sql(ROWS, as_of=7)
        with pytest.raises(SessionNotFoundError):
            store.sql(ROWS, sessions=["missing"])

    assert len(os.listdir("/proc/self/fd")) == before


def test_a_snapshot_takes_no_lock(store):
    with store.graph("g", create=True) as session:
        session._writer.append([note()])
        with Folder(Files(), store.path) as folder, Snapshot(folder) as snapshot:
            session._writer.append([note()])
            assert store.compact().rows == 2
            assert len(snapshot.ask(ROWS)) == 1


def pins(store):
    return os.listdir(f"{store.path}/_lake/pins")


def test_the_files_of_a_connection_outlive_their_generation_until_it_is_dropped(store):
    append(store, "g", [note()])
    store.compact()
    connection = store.connect()
    for turn in range(8):
        append(store, "g", [note(str(turn))])
        store.compact()

    with store._folder() as folder:
        assert gc(folder, grace_hours=0).pinned == 1
        assert connection.sql(ROWS).fetchall() == [("g", 1, "events")]
        connection.close()
        del connection
        assert pins(store) == []
        assert gc(folder, grace_hours=0).segments > 0
    assert len(store.sql(ROWS)) == 9


def test_a_question_that_fails_leaves_no_pin(store):
    append(store, "g", [note()])
    store.compact()

    for bad in ({"as_of": 7}, {"sessions": ["missing"]}, {"as_of": "never"}):
        with pytest.raises(varvite.VarviteError):
            store.sql(ROWS, **bad)
        with pytest.raises(varvite.VarviteError):
            store.connect(**bad)
    with pytest.raises(varvite.VarviteError):
        store.sql("select nothing from records")

    assert pins(store) == []


def test_a_deleted_session_is_gone_from_every_view_at_once(store):
    for name in ("g", "h"):
        append(store, name, [note()])
        store.compact()
        append(store, name, [note()])

    with store._folder() as folder, Snapshot(folder) as before:
        store.delete("g")

        assert store.sql(ROWS).rows() == [("h", 1, "events"), ("h", 2, "events")]
        with pytest.raises(SessionNotFoundError):
            store.sql(ROWS, sessions=["g"])
        assert len(before.ask(ROWS)) == 4


def test_a_session_whose_deletion_was_cut_short_shows_in_no_view(store):
    append(store, "g", [note()])
    append(store, "h", [note()])
    store.compact()
    shutil.copytree(f"{store.path}/g", f"{store.path}/.g")
    store.delete("g")
    os.rename(f"{store.path}/.g", f"{store.path}/g")

    assert store.sql(ROWS).rows() == [("h", 1, "events")]
    with pytest.raises(SessionNotFoundError, match="was deleted"):
        store.sql(ROWS, sessions=["g"])


def test_a_new_session_under_a_deleted_ones_name_shows_its_own_rows_alone(store):
    append(store, "g", [note(), note()])
    store.compact()
    with store._folder() as folder, Snapshot(folder) as before:
        store.delete("g")
        append(store, "g", [note()])

        assert store.sql(ROWS).rows() == [("g", 1, "events")]
        assert before.ask(ROWS).rows() == [("g", 1, "events"), ("g", 2, "events")]
    assert store.compact().rows == 1
    assert store.sql(ROWS).rows() == [("g", 1, "events")]


def test_the_tail_of_a_session_that_was_deleted_and_made_again_is_missed(store):
    append(store, "g", [note(), note()])
    with store._folder() as folder, Snapshot(folder) as before:
        store.delete("g")
        append(store, "g", [note()])

        with pytest.raises(SessionNotFoundError, match="was deleted"):
            before.ask(ROWS)


def test_a_manifest_that_is_swept_while_it_is_looked_for_is_looked_for_again(store, monkeypatch):
    from varvite.segments import manifest

    append(store, "g", [note()])
    store.compact()
    append(store, "g", [note()])
    store.compact()
    with store._folder() as folder:
        gc(folder, grace_hours=0)
        real, found = latest, iter([1])
        monkeypatch.setattr(manifest, "latest", lambda store: next(found, None) or real(store))

        assert manifest.load(folder).generation == 2


def test_a_stream_without_contract_is_there_once_a_session_asked_has_a_record_of_it(store):
    append(store, "a", [note()])
    append(store, "b", [note()])
    append(store, "b", [{"stream": "weather", "sun": True}])

    for _ in range(2):
        assert len(store.sql("from streams.weather")) == 1
        assert store.sql("from streams.weather", as_of={"b": 1}).rows() == []
        with pytest.raises(QueryError, match="weather does not exist"):
            store.sql("from streams.weather", sessions=["a"])
        store.compact()
