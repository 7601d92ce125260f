"""CLEAN, the marker of a closed session: what it spares an open, and when it is not believed."""

import shutil

import orjson
import pytest

from varvite.disk import proof
from varvite.errors import CorruptError
from varvite.testing import notes
from varvite.testing.faulty import ReadSpy
from varvite.testing.notes import note


@pytest.fixture
def closed(store, session):
    with notes.writer(store) as writer:
        for number in range(5):
            writer.append([note(number)])
    return session


def test_opening_after_a_close_reads_one_header_and_replaces_nothing(store, closed):
    inode = (closed / "events.ndjson").stat().st_ino
    spy = ReadSpy(store.path)

    with notes.store(store.path, spy) as spied:
        writer = notes.writer(spied)

    assert (closed / "events.ndjson").stat().st_ino == inode
    assert spy.opened["s/events.ndjson"] == 2
    assert spy.bytes_by_path["s/events.ndjson"] <= notes.parts.HEADER_BYTES
    notes.abandon(writer)


def test_it_is_gone_while_a_writer_is_open(store, closed):
    writer = notes.writer(store)
    assert not (closed / "CLEAN").exists()
    notes.abandon(writer)
    assert not (closed / "CLEAN").exists()

    notes.writer(store).close()
    assert (closed / "CLEAN").exists()


def changed(path, **values):
    kept = orjson.loads(path.read_bytes())
    del kept["crc"]
    path.write_bytes(proof.document(kept | values))


def test_one_of_another_part_or_session_is_not_believed(store, closed):
    for values in ({"part_first": 7}, {"uid": "0" * 32}):
        inode = (closed / "events.ndjson").stat().st_ino
        changed(closed / "CLEAN", **values)
        notes.writer(store).close()
        assert (closed / "events.ndjson").stat().st_ino != inode


def test_one_that_does_not_prove_itself_is_not_believed(store, closed):
    data = (closed / "CLEAN").read_bytes()
    for place in range(0, len(data), 5):
        inode = (closed / "events.ndjson").stat().st_ino
        (closed / "CLEAN").write_bytes(data[:place] + b"~" + data[place + 1 :])
        writer = notes.writer(store)
        assert writer.cursor == 5
        assert (closed / "events.ndjson").stat().st_ino != inode
        notes.abandon(writer)


@pytest.mark.parametrize("cut", [1, 30, 300])
def test_what_it_knows_was_committed_is_missed_without_an_index_too(store, closed, cut):
    shutil.rmtree(closed / "index")
    (closed / "state.json").unlink()
    data = (closed / "events.ndjson").read_bytes()[:-cut]
    (closed / "events.ndjson").write_bytes(data)

    for attempt in (lambda: notes.writer(store), lambda: notes.rebuild(store)):
        with pytest.raises(CorruptError, match="seq 5 was committed"):
            attempt()

    assert (closed / "events.ndjson").read_bytes() == data
    assert (closed / "CLEAN").exists()


def test_a_close_after_which_nothing_is_new_leaves_the_state_as_it_stands(store, closed):
    before = (closed / "state.json").stat().st_ino

    notes.writer(store).close()

    assert (closed / "state.json").stat().st_ino == before


def test_a_close_writes_a_state_that_is_behind_or_damaged_anew(store, closed):
    behind = (closed / "state.json").read_bytes()
    with notes.writer(store) as writer:
        writer.append([note(5)])
    stands = orjson.loads((closed / "state.json").read_bytes())["counts"]

    for bad in (behind, behind[:-2], b""):
        (closed / "state.json").write_bytes(bad)
        notes.writer(store).close()

        assert orjson.loads((closed / "state.json").read_bytes())["counts"] == stands
