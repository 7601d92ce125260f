import os

import orjson
import pytest

from varvite.disk.files import Files
from varvite.errors import StorageError, WriterPoisonedError
from varvite.session.streams import OPEN_FILES_MAX
from varvite.testing import notes
from varvite.testing.faulty import Fail, Faulty
from varvite.testing.notes import note


def by_stream(store):
    """What the stream files should hold, from the journal."""
    found = {}
    with store.folder(notes.SESSION) as folder:
        for batch in notes.parts.batches(folder):
            for line in batch.lines():
                stream = orjson.loads(line)["stream"]
                if stream != notes.HIDDEN:
                    found[f"{stream}.jsonl"] = found.get(f"{stream}.jsonl", b"") + line + b"\n"
    return found


def files(session):
    return {path.name: path.read_bytes() for path in session.glob("*.jsonl")}


def test_each_stream_has_a_file_of_its_lines_and_private_ones_have_none(store, session):
    assert files(session) == {"notes.jsonl": b""}
    with notes.writer(store) as writer:
        for number in range(3):
            writer.append([note(number), note(number, stream="other"), note(1, stream="hidden")])
            writer.seal()

    assert files(session) == by_stream(store)
    assert set(files(session)) == {"notes.jsonl", "other.jsonl"}


def test_more_streams_than_descriptors_are_kept(store, session):
    names = [f"s{number}" for number in range(OPEN_FILES_MAX * 2 + 1)]
    before = len(os.listdir("/proc/self/fd"))
    with notes.writer(store) as writer:
        for number in range(3):
            writer.append([note(number, stream=name) for name in names])
        held = len(os.listdir("/proc/self/fd")) - before

    found = files(session)
    del found["notes.jsonl"]
    assert found == by_stream(store)
    assert held < OPEN_FILES_MAX * 2


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("damage", ["longer", "shorter", "gone", "half a line"])
def test_after_an_unclean_stop_stream_files_are_right_or_known_to_be_stale(
    store, session, sealed, damage
):
    writer = notes.writer(store)
    writer.append([note(1), note(1, stream="other")])
    if sealed:
        writer.seal()
    writer.append([note(2), note(2, stream="other")])
    notes.abandon(writer)
    path = session / "other.jsonl"
    data = path.read_bytes()
    {
        "longer": lambda: path.write_bytes(data + data),
        "shorter": lambda: path.write_bytes(b""),
        "gone": path.unlink,
        "half a line": lambda: path.write_bytes(data[:-9]),
    }[damage]()

    with notes.writer(store) as writer:
        writer.append([note(3), note(3, stream="other")])
        stale = writer.stale_streams

    lost = sealed and damage in {"shorter", "gone"}
    assert stale == ({"other"} if lost else set())
    if lost:
        notes.rebuild(store)
        with notes.writer(store) as writer:
            assert writer.stale_streams == set()
    assert files(session) == by_stream(store)


@pytest.mark.parametrize("damage", ["longer", "shorter", "gone"])
def test_after_a_clean_close_a_changed_stream_file_is_known_to_be_stale(store, session, damage):
    with notes.writer(store) as writer:
        writer.append([note(1), note(1, stream="other")])
    path = session / "other.jsonl"
    data = path.read_bytes()
    {
        "longer": lambda: path.write_bytes(data + b"x"),
        "shorter": lambda: path.write_bytes(data[:-1]),
        "gone": path.unlink,
    }[damage]()

    for number in range(2):
        with notes.writer(store) as writer:
            assert writer.stale_streams == {"other"}
            writer.append([note(number), note(number, stream="other")])

    notes.rebuild(store)
    assert files(session) == by_stream(store)


@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("code", [28, 5, 24, 13])
def test_a_stream_file_that_cannot_be_written_delays_and_loses_nothing(tmp_path, code, forever):
    class OnlyStreams(Faulty):
        """Fails writes of stream files alone."""

        def __init__(self):
            super().__init__()
            self.opened, self.fails = {}, 0

        def open(self, name, flags, *, dir_fd=None):
            fd = super().open(name, flags, dir_fd=dir_fd)
            self.opened[fd] = name
            return fd

        def write(self, fd, data):
            if self.fails and self.opened.get(fd, "").endswith(".jsonl"):
                self.fails -= 1
                Files.write(self, fd, data[: len(data) // 2])
                raise OSError(code, os.strerror(code))
            return super().write(fd, data)

    disk = OnlyStreams()
    with notes.store(tmp_path / "store", disk) as store:
        writer = notes.writer(store)
        acknowledged, codes = [], set()
        disk.fails = 1_000_000 if forever else 1
        for number in range(4):
            try:
                writer.append([note(number)], key=str(number))
                acknowledged.append([number])
            except StorageError as error:
                codes.add(error.errno)
        disk.fails = 0
        for number in range(4):
            writer.append([note(number)], key=str(number))
        writer.close()

        assert codes == ({code} if forever else set())
        assert acknowledged == ([[0]] if forever else [[0], [1], [2], [3]])
        assert [values for _, values in notes.journal(store)] == [[0], [1], [2], [3]]
        assert files(tmp_path / "store" / "s") == by_stream(store)


def test_closing_leaves_nothing_of_the_stream_files_unsynced(tmp_path):
    disk = Faulty()
    with notes.store(tmp_path / "store", disk) as store:
        with notes.writer(store) as writer:
            writer.append([note(1), note(1, stream="other"), note(1, stream=notes.HIDDEN)])
            disk.arm(None)
        first = disk.seen.count("sync_data")
        disk.arm(None)
        with notes.writer(store) as writer:
            pass

    assert first == 2
    assert disk.seen.count("sync_data") == 0


def test_a_failed_sync_of_a_stream_file_ends_the_writer(tmp_path):
    disk = Faulty()
    with notes.store(tmp_path / "store", disk) as store:
        writer = notes.writer(store)
        writer.append([note(1)])
        disk.arm(Fail(1, 5, only=frozenset({"sync_data"}), forever=True))
        with pytest.raises(StorageError):
            writer.seal()
        disk.arm(None)
        with pytest.raises(WriterPoisonedError):
            writer.append([note(2)])
        writer.close()
        with notes.writer(store) as writer:
            writer.append([note(3)])

    assert notes.journal(notes.store(tmp_path / "store")) == [(1, [1]), (2, [3])]
