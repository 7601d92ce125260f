import os
import threading

import pytest

from varvite.disk.files import Files
from varvite.errors import CorruptError, StorageError
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.faulty import Crash, Fail, Faulty, Kill, ReadSpy
from varvite.testing.notes import note


def values(batches):
    import orjson

    return [[orjson.loads(line)["value"] for line in batch.lines()] for batch in batches]


def test_a_poll_returns_what_is_new_once(store):
    with notes.writer(store) as writer, Reader(store, "s") as reader:
        assert reader.poll() == []
        writer.append([note(1), note(2)])
        writer.append([note(3)])

        assert values(reader.poll()) == [[1, 2], [3]]
        assert (reader.poll(), reader.cursor) == ([], 3)


def test_a_poll_reads_no_byte_where_nothing_is_new(store, tmp_path):
    spy = ReadSpy(store.path)
    with notes.writer(store) as writer, notes.store(store.path, spy) as spied:
        for number in range(50):
            writer.append([note(number)])
        with Reader(spied, "s") as reader:
            spy.clear()
            for _ in range(20):
                assert reader.poll() == []
            assert (dict(spy.opened), dict(spy.bytes_by_path)) == ({}, {})

            size = os.path.getsize(os.path.join(store.path, "s", "events.ndjson"))
            writer.append([note("new")])
            grown = os.path.getsize(os.path.join(store.path, "s", "events.ndjson")) - size
            assert values(reader.poll()) == [["new"]]
            assert dict(spy.bytes_by_path) == {"s/events.ndjson": grown}


def test_opening_reads_state_and_what_is_beyond_it_and_no_sealed_part(store):
    spy = ReadSpy(store.path)
    with notes.writer(store) as writer:
        for number in range(20):
            writer.append([note(number)])
            writer.seal()
        for number in range(20):
            writer.append([note(number)])
        with notes.store(store.path, spy) as spied, Reader(spied, "s") as reader:
            assert reader.cursor == 40

    assert sorted(spy.opened) == [".", "s", "s/events.ndjson", "s/session.json", "s/state.json"]


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_a_reader_follows_over_any_number_of_sealed_parts(store, parts):
    with notes.writer(store) as writer, Reader(store, "s") as reader:
        writer.append([note("seen")])
        reader.poll()
        writer.append([note("unseen")])
        for number in range(parts):
            writer.seal()
            writer.append([note(number)])

        assert values(reader.poll()) == [["unseen"]] + [[number] for number in range(parts)]
        assert reader.poll() == []
        assert reader.last.last == reader.cursor == 2 + parts
        writer.append([note("more")])
        assert values(reader.poll()) == [["more"]]


def test_a_reader_follows_to_a_part_that_is_still_empty(store):
    with notes.writer(store) as writer, Reader(store, "s") as reader:
        writer.append([note(1)])
        writer.seal()

        assert values(reader.poll()) == [[1]]
        writer.append([note(2)])
        assert values(reader.poll()) == [[2]]


def test_a_reader_stays_right_over_a_recovery(store, session):
    writer = notes.writer(store)
    writer.append([note(1)])
    with Reader(store, "s") as reader:
        writer.append([note(2)])
        notes.abandon(writer)
        with (session / "events.ndjson").open("ab") as file:
            file.write(b'{"seq":3,"stream":"notes"')
        assert values(reader.poll()) == [[2]]
        with notes.writer(store) as writer:
            assert writer.recovered.bytes_cut == 25
            writer.append([note(3)])
            assert values(reader.poll()) == [[3]]
            writer.seal()
            writer.append([note(4)])
        assert values(reader.poll()) == [[4]]


def test_half_a_batch_is_never_seen(store, session):
    with notes.writer(store) as writer:
        writer.append([note(1)])
    before = (session / "events.ndjson").read_bytes()
    with notes.writer(store) as writer:
        writer.append([note(2), note(3)])
        notes.abandon(writer)
    whole = (session / "events.ndjson").read_bytes()

    for cut in range(len(before), len(whole), 3):
        (session / "events.ndjson").write_bytes(whole[:cut])
        (session / "state.json").unlink(missing_ok=True)
        with Reader(store, "s") as reader:
            assert (reader.cursor, values(reader.batches())) == (1, [[1]])
            (session / "events.ndjson").write_bytes(whole)
            assert values(reader.poll()) == [[2, 3]]


def test_readers_beside_a_writer_that_seals_see_every_batch_once_and_in_order(tmp_path):
    seen, failures = {}, []
    done = threading.Event()
    with notes.store(tmp_path / "store") as store:
        writer = notes.writer(store, level="fast", seal_bytes=3_000)

        def read(name):
            found = []
            try:
                with notes.store(tmp_path / "store") as mine, Reader(mine, "s") as reader:
                    first = reader.cursor
                    while not done.is_set() or reader.cursor < writer.cursor:
                        found += reader.poll()
                    seen[name] = (first, found)
            except Exception as error:
                failures.append(error)

        readers = [threading.Thread(target=read, args=(name,)) for name in range(3)]
        for thread in readers:
            thread.start()
        for number in range(300):
            writer.append([note(number), note(number)])
        done.set()
        for thread in readers:
            thread.join()
        writer.close()

    assert failures == []
    assert len(seen) == 3
    for first, found in seen.values():
        assert [batch.commit.first for batch in found] == list(range(first + 1, 601, 2))


@pytest.mark.parametrize("state", ["kept", "deleted"])
def test_damage_in_the_middle_is_never_a_shorter_session(store, session, state):
    with notes.writer(store) as writer:
        marks = []
        for number in range(4):
            marks.append((session / "events.ndjson").stat().st_size)
            writer.append([note(number)])
        marks.append((session / "events.ndjson").stat().st_size)
    data = (session / "events.ndjson").read_bytes()
    if state == "deleted":
        (session / "state.json").unlink()

    for place in range(marks[0], marks[3], 7):
        (session / "events.ndjson").write_bytes(
            data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        )
        with pytest.raises(CorruptError), Reader(store, "s") as reader:
            list(reader.batches())


def test_a_journal_that_lost_its_end_is_not_a_shorter_session(store, session):
    with notes.writer(store) as writer:
        for number in range(4):
            writer.append([note(number)])
    data = (session / "events.ndjson").read_bytes()

    with Reader(store, "s") as reader:
        for cut in range(len(data) - 1, 300, -50):
            (session / "events.ndjson").write_bytes(data[:cut])
            with pytest.raises(CorruptError):
                Reader(store, "s")
            with pytest.raises(CorruptError):
                reader.poll()
            with pytest.raises(CorruptError):
                list(reader.batches())


def test_a_state_that_was_never_synced_may_know_more_than_the_journal(store, session):
    writer = notes.writer(store, level="fast")
    writer.append([note(1)])
    size = (session / "events.ndjson").stat().st_size
    writer._state_due = 0
    writer.append([note(2)])
    notes.abandon(writer)
    data = (session / "events.ndjson").read_bytes()
    (session / "events.ndjson").write_bytes(data[:size])

    with Reader(store, "s") as reader:
        assert (reader.cursor, values(reader.batches())) == (1, [[1]])


def test_a_state_of_another_session_or_part_is_passed_over(store, session, tmp_path):
    with notes.writer(store) as writer:
        writer.append([note(1)])
        older = (session / "state.json").read_bytes()
        writer.seal()
        writer.append([note(2)])
    with notes.store(tmp_path / "other") as other, notes.writer(other) as writer:
        writer.append([note(n) for n in range(9)])
    foreign = (tmp_path / "other" / "s" / "state.json").read_bytes()

    for state in (older, foreign, b"", b"\0" * 100, older[:-20], b"{}", b"[" * 100_000):
        (session / "state.json").write_bytes(state)
        with Reader(store, "s") as reader:
            assert reader.cursor == 2


def open_descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_a_reader_that_fails_leaves_no_descriptor_and_a_typed_error(store):
    with notes.writer(store) as writer:
        writer.append([note(1)])
        writer.seal()
        writer.append([note(2)])
    files = Faulty()
    with notes.store(store.path, files) as faulty:
        files.arm(None)
        Reader(faulty, "s").close()
        operations = len(files.seen)
        for number in range(1, operations + 1):
            before = open_descriptors()
            files.arm(Fail(number, 5))
            try:
                with Reader(faulty, "s") as reader:
                    assert reader.cursor == 2
            except StorageError:
                pass
            files.arm(None)
            assert open_descriptors() == before, files.seen


def test_a_poll_that_fails_is_made_good_by_the_next(store, tmp_path):
    files = Faulty()
    with notes.store(store.path, files) as faulty, notes.writer(store) as writer:
        reader = Reader(faulty, "s")
        seen, number = [], 0
        while True:
            number += 1
            writer.append([note([number, "a"])])
            writer.seal()
            writer.append([note([number, "b"])])
            before = open_descriptors()
            files.arm(Fail(number, 24))
            try:
                seen += values(reader.poll())
                if not files.fault.struck:
                    break
            except StorageError:
                pass
            files.arm(None)
            assert open_descriptors() == before
            while new := reader.poll():
                seen += values(new)
        files.arm(None)
        while new := reader.poll():
            seen += values(new)
        reader.close()

    assert number > 8
    assert seen == [[[n, part]] for n in range(1, number + 1) for part in "ab"]


def test_a_reader_never_changes_the_disk(store, session):
    changing = {"write", "truncate", "rename", "link", "unlink", "mkdir", "rmdir", "sync"}
    files = Faulty()
    with notes.writer(store) as writer, notes.store(store.path, files) as mine:
        writer.append([note(1)])
        writer.seal()
        with Reader(mine, "s") as reader:
            writer.append([note(2)])
            reader.poll()
            list(reader.batches())

    assert changing.intersection(files.seen) == set()


def test_what_a_crash_leaves_is_read_before_a_writer_mends_it(tmp_path):
    number = 0
    while True:
        number += 1
        files = Faulty()
        with notes.store(tmp_path / f"store{number}", files) as store:
            writer = notes.writer(store)
            writer.append([note(1)])
            files.arm(Kill(number))
            ended = False
            try:
                writer.append([note(2), note(3)])
                writer.seal()
                writer.append([note(4)])
                ended = True
            except Crash:
                pass
            files.arm(None)
            notes.abandon(writer)
            with notes.store(store.path, Files()) as mine, Reader(mine, "s") as reader:
                found = values(reader.batches())
            assert found in ([[1]], [[1], [2, 3]], [[1], [2, 3], [4]])
            assert reader.cursor == sum(map(len, found))
        if ended:
            break

    assert number > 15
