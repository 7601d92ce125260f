import os

import pytest

from varvite.errors import StorageError
from varvite.testing import notes
from varvite.testing.faulty import Crash, Fail, Faulty, Kill
from varvite.testing.notes import note


@pytest.fixture
def files():
    return Faulty()


@pytest.fixture
def watched(tmp_path, files):
    with notes.store(tmp_path / "watched", files) as folder:
        yield folder


def test_everything_is_on_disk_before_a_part_gets_its_name(watched, files, monkeypatch):
    with notes.writer(watched, level="fast") as writer:
        writer.append([note(1), note(1, stream="other")])
        synced = writer.index.sync
        monkeypatch.setattr(writer.index, "sync", lambda: (files.seen.append("index"), synced()))
        files.arm(None)
        writer.seal()
    changes = [
        name
        for name in files.seen[: files.seen.index("rename") + 2]
        if name in {"sync_data", "index", "write", "sync", "link", "rename"}
    ]

    assert changes == [
        "sync_data",  # notes
        "sync_data",  # other
        "sync",  # the name of other
        "sync_data",  # the journal
        "index",
        "write",  # the next part's header
        "sync",
        "link",
        "sync",  # the folder of sealed parts
        "rename",
        "sync",  # the session's folder
    ]


def test_sealing_an_empty_part_does_nothing(watched, files):
    with notes.writer(watched) as writer:
        for _ in range(2):
            files.arm(None)
            writer.seal()
            assert not {"write", "link", "rename"}.intersection(files.seen)
            writer.append([note(1)])
            writer.seal()

    assert len(os.listdir(os.path.join(watched.path, "s", "journal"))) == 2


def test_a_part_is_sealed_before_the_append_that_finds_it_full(watched):
    with notes.writer(watched, seal_bytes=1_000) as writer:
        while writer._active.header.first == 1:
            before = writer._active.position.offset
            writer.append([note("x" * 100)])

    assert before >= 1_000
    assert [first for first, _ in notes.journal(watched)] == list(range(1, writer.cursor + 1))


def test_a_seal_that_fails_before_the_rename_is_made_again(watched, files):
    writer = notes.writer(watched)
    writer.append([note(0)])
    files.arm(Fail(1, 28, only=frozenset({"rename"}), forever=True))
    for number in range(1, 4):
        with pytest.raises(StorageError):
            writer.seal()
        writer.append([note(number)])
    files.arm(None)
    writer.seal()
    writer.append([note(4)])
    writer.close()

    assert [values for _, values in notes.journal(watched)] == [[0], [1], [2], [3], [4]]
    assert os.listdir(os.path.join(watched.path, "s", "journal")) == ["000000000001.ndjson"]


def test_what_a_seal_that_was_cut_short_left_never_stands_for_the_part(watched, files):
    """Between the link and the rename: the active part goes on under both names."""
    writer = notes.writer(watched)
    writer.append([note(0)])
    files.arm(None)
    with pytest.raises(Crash):
        files.arm(_KillAtRename())
        writer.seal()
    files.arm(None)
    notes.abandon(writer)
    leftover = os.path.join(watched.path, "s", "journal", "000000000001.ndjson")
    assert os.path.exists(leftover)

    with notes.writer(watched) as writer:
        assert not os.path.exists(leftover)
        writer.append([note(1)])
        writer.seal()
        writer.append([note(2)])

    assert [values for _, values in notes.journal(watched)] == [[0], [1], [2]]


class _KillAtRename(Kill):
    def __init__(self):
        super().__init__(1 << 30)

    def __call__(self, number, operation, do):
        if operation == "rename":
            self.at = number
        return super().__call__(number, operation, do)
