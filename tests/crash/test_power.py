"""The power is cut: what was synced is there, and what was not may be anything (G1)."""

import shutil
from itertools import count

import pytest

from varvite.disk.files import Folder
from varvite.errors import SessionNotFoundError, StaleIndexError
from varvite.session import identity
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.power import Recorder
from varvite.testing.trial import values

UNSEEN = frozenset({"index"})
_numbers = count()


def pair(value):
    return [notes.note(value), notes.note(value, stream="other")]


def opened(path):
    """The values after a recovery and one more batch; the index did not survive."""
    with notes.store(path) as store:
        with Reader(store, "s") as reader:
            seen = reader.cursor
        try:
            writer = notes.writer(store)
        except StaleIndexError:
            notes.rebuild(store)
            writer = notes.writer(store)
        assert writer.cursor == seen
        assert writer.stale_streams == set()
        writer.append(pair("last"))
        writer.close()
    found = values(path)
    assert found.pop() == "last"
    return found


def every_state(recorder, tmp_path):
    for state in recorder.states():
        path = str(tmp_path / f"state{next(_numbers)}")
        state.lay_down(path)
        yield state, path
        shutil.rmtree(path)


def check(recorder, attempted, tmp_path, *, held=0, sure=True):
    """Each state opens to the acknowledged batches and perhaps some attempted after them."""
    met = 0
    for state, path in every_state(recorder, tmp_path):
        found = opened(path)
        least = held + state.acknowledged if sure else held
        assert found == attempted[: len(found)], state.told
        assert least <= len(found) <= len(attempted), state.told
        met += 1
    return met


def record(path, work, **options):
    recorder = Recorder(str(path), unseen=UNSEEN)
    with Folder(recorder, str(path)) as store:
        work(recorder, store)
    return recorder


def test_the_model_itself_loses_what_was_never_synced(tmp_path):
    (tmp_path / "disk").mkdir()

    def work(recorder, store):
        fd = store.create("a", b"first")
        recorder.sync(fd)
        store.sync()
        recorder.write(fd, b"second")
        store.close()

    recorder = record(tmp_path / "disk", work)
    files = {dict(state.tree).get("a") for state in recorder.states()}

    assert files == {
        None,
        b"",
        b"fi",
        bytes(5),
        b"\0\0rst",
        b"first",
        b"firstsec",
        b"firstsecond",
        b"first" + bytes(6),
        b"first\0\0\0ond",
        b"firstfirstf",
    }


def test_a_session_is_whole_from_the_moment_it_was_acknowledged(tmp_path):
    (tmp_path / "store").mkdir()

    def work(recorder, store):
        identity.create(store, "s", notes.NOTES, parameters={})
        recorder.mark(1)

    recorder = record(tmp_path / "store", work)
    for state, path in every_state(recorder, tmp_path):
        try:
            assert opened(path) == []
        except SessionNotFoundError:
            assert state.acknowledged == 0, state.told


def appends(level, number=3):
    def work(recorder, store):
        writer = notes.writer(store, level=level)
        for value in range(number):
            writer.append(pair(f"w{value}"))
            recorder.mark(value + 1)
        notes.abandon(writer)

    return work


@pytest.mark.parametrize("level", ["durable", "group", "fast"])
def test_an_acknowledged_batch_survives_the_power(tmp_path, level):
    notes.store(tmp_path / "store").close()

    recorder = record(tmp_path / "store", appends(level))

    attempted = ["w0", "w1", "w2"]
    assert check(recorder, attempted, tmp_path, sure=level != "fast") > 50


def test_several_batches_in_one_group_may_all_be_torn(tmp_path):
    """Written one after another before one sync: the disk may have any of their pages."""
    notes.store(tmp_path / "store").close()

    def work(recorder, store):
        writer = notes.writer(store, level="fast")
        writer.append(pair("w0"), level="durable")
        recorder.mark(1)
        for value in (1, 2, 3):
            writer.append(pair(f"w{value}"))
        writer.append(pair("w4"), level="durable")
        recorder.mark(5)
        notes.abandon(writer)

    recorder = record(tmp_path / "store", work)

    assert check(recorder, [f"w{n}" for n in range(5)], tmp_path) > 50


def test_sealing_never_loses_a_part(tmp_path):
    notes.store(tmp_path / "store").close()

    def work(recorder, store):
        writer = notes.writer(store)
        for value in range(4):
            writer.append(pair(f"w{value}"), level="fast" if value == 1 else "durable")
            if value != 1:
                recorder.mark(value + 1)
            if value % 2:
                writer.seal()
                recorder.mark(value + 1)
        writer.close()
        recorder.mark(4)

    recorder = record(tmp_path / "store", work)

    assert check(recorder, [f"w{n}" for n in range(4)], tmp_path) > 150


@pytest.mark.parametrize("torn", [b"", b"torn", bytes(300)])
def test_a_recovery_never_loses_what_was_acknowledged_before_it(tmp_path, torn):
    with notes.store(tmp_path / "store") as store:
        writer = notes.writer(store)
        writer.append(pair("a"))
        writer.seal()
        writer.append(pair("b"))
        notes.abandon(writer)
    with (tmp_path / "store" / "s" / "events.ndjson").open("ab") as file:
        file.write(torn)

    recorder = record(tmp_path / "store", appends("durable", 1))

    assert check(recorder, ["a", "b", "w0"], tmp_path, held=2) > 40


def test_after_a_clean_close_and_a_power_cut_everything_is_there(tmp_path):
    notes.store(tmp_path / "store").close()

    def work(recorder, store):
        with notes.writer(store, level="fast") as writer:
            writer.append(pair("w0"))
        recorder.mark(1)
        with notes.writer(store) as writer:
            writer.append(pair("w1"))
            recorder.mark(2)
        recorder.mark(2)

    recorder = record(tmp_path / "store", work)

    assert check(recorder, ["w0", "w1"], tmp_path) > 80


@pytest.mark.parametrize("level", ["durable", "fast"])
def test_a_marker_is_gone_before_the_next_byte(tmp_path, level):
    with notes.store(tmp_path / "store") as store, notes.writer(store) as writer:
        writer.append(pair("a"))

    recorder = record(tmp_path / "store", appends(level, 2))

    sure = level == "durable"
    assert check(recorder, ["a", "w0", "w1"], tmp_path, held=1, sure=sure) > 50


def test_a_marker_of_a_clean_close_is_never_believed_about_unsynced_bytes(tmp_path):
    """Wherever CLEAN survives, journal and stream files are as it says."""
    notes.store(tmp_path / "store").close()

    def work(recorder, store):
        with notes.writer(store, level="fast") as writer:
            writer.append(pair("w0"))

    recorder = record(tmp_path / "store", work)
    met = 0
    for state in recorder.states():
        files = dict(state.tree)
        if files.get("s/CLEAN"):
            met += 1
            for stream in ("notes", "other"):
                lines = files[f"s/{stream}.jsonl"]
                assert lines.count(b"\n") == 1, state.told
                assert lines in files["s/events.ndjson"], state.told
    assert met > 0


def test_a_rebuild_never_loses_a_batch(tmp_path):
    with notes.store(tmp_path / "store") as store, notes.writer(store) as writer:
        writer.append(pair("a"))
        writer.seal()
        writer.append(pair("b"))

    def work(recorder, store):
        recorder.mark(2)
        notes.rebuild(store)

    recorder = record(tmp_path / "store", work)

    assert check(recorder, ["a", "b"], tmp_path, held=2, sure=False) > 50
