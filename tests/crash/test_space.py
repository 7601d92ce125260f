"""Real limits of the system: a full file system, a file size limit, no descriptors left."""

import os
import resource
import subprocess
from contextlib import contextmanager

import pytest

from varvite.disk.files import Files
from varvite.errors import DiskFullError, StorageError
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.notes import note
from varvite.testing.trial import reopened


@contextmanager
def limited(what, soft):
    before = resource.getrlimit(what)
    resource.setrlimit(what, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)


def pair(value):
    return [note(value), note(value, stream="other")]


def test_a_write_cut_short_by_a_file_size_limit_at_any_byte_is_taken_back(tmp_path):
    """A retry after it is one whole copy, with nothing glued to it."""
    path = str(tmp_path / "store")
    with notes.store(path) as store:
        writer = notes.writer(store)
        writer.append(pair("warm"))
        begin = os.path.getsize(f"{path}/s/events.ndjson")
        refused, number = 0, 0
        for limit in range(begin, begin + 900, 7):
            number += 1
            size = os.path.getsize(f"{path}/s/events.ndjson")
            with limited(resource.RLIMIT_FSIZE, size + limit - begin):
                try:
                    writer.append(pair(f"w{number}"), key=f"w{number}")
                except DiskFullError:
                    refused += 1
                    assert os.path.getsize(f"{path}/s/events.ndjson") == size
            writer.append(pair(f"w{number}"), key=f"w{number}")
        writer.close()

    assert 30 < refused < number
    assert reopened(path) == ["warm"] + [f"w{n}" for n in range(1, number + 1)]


def test_appending_needs_no_new_descriptor(tmp_path):
    path = str(tmp_path / "store")
    with notes.store(path) as store:
        writer = notes.writer(store)
        writer.append(pair("warm"))
        writer._state_due = 0
        highest = max(int(name) for name in os.listdir("/proc/self/fd"))
        held = []
        try:
            with limited(resource.RLIMIT_NOFILE, highest + 1):
                while True:
                    try:
                        held.append(os.open("/dev/null", os.O_RDONLY))
                    except OSError:
                        break
                for number in range(20):
                    writer.append(pair(number))
                with pytest.raises(StorageError):
                    writer.seal()
                with pytest.raises(StorageError):
                    Reader(store, "s")
                writer.append(pair("still"))
        finally:
            for fd in held:
                os.close(fd)
        writer.seal()
        writer.append(pair("after"))
        writer.close()

    assert reopened(path) == ["warm", *range(20), "still", "after"]


def test_a_new_stream_without_a_descriptor_for_it_delays_and_loses_nothing(tmp_path):
    path = str(tmp_path / "store")
    with notes.store(path) as store:
        writer = notes.writer(store)
        writer.append([note("a"), note("a", stream=notes.HIDDEN)])
        highest = max(int(name) for name in os.listdir("/proc/self/fd"))
        held = []
        try:
            with limited(resource.RLIMIT_NOFILE, highest + 1):
                while True:
                    try:
                        held.append(os.open("/dev/null", os.O_RDONLY))
                    except OSError:
                        break
                writer.append(pair("b"), key="b")
                with pytest.raises(StorageError):
                    writer.append(pair("c"), key="c")
        finally:
            for fd in held:
                os.close(fd)
        writer.append(pair("c"), key="c")
        writer.close()

    assert reopened(path) == ["a", "b", "c"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MB; skipped where this process may not mount one."""
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4M", "tmpfs", str(path)],
        check=False,
        capture_output=True,
    )
    if done.returncode:
        pytest.skip("no right to mount a file system here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill(path):
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def test_a_full_file_system_loses_nothing_and_goes_on_when_it_is_relieved(small_disk):
    path = str(small_disk / "store")
    with notes.store(path) as store:
        writer = notes.writer(store, seal_bytes=100_000)
        held = []
        for _ in range(3):
            for _ in range(20):
                writer.append(pair([len(held), "x" * 900]))
                held.append([len(held), "x" * 900])
            fill(small_disk / "ballast")
            refused = 0
            for number in range(3, 60):
                try:
                    writer.append(pair([len(held), "y" * 50 * number]))
                    held.append([len(held), "y" * 50 * number])
                except DiskFullError:
                    refused += 1
            assert refused > 30
            with Reader(store, "s") as reader:
                assert reader.cursor == 2 * len(held)
            (small_disk / "ballast").unlink()
        writer.close()
        fill(small_disk / "ballast")
        with Reader(store, "s") as reader:
            assert reader.cursor == 2 * len(held)
        try:
            with notes.writer(store) as writer:
                assert writer.cursor == 2 * len(held)
        except StorageError:
            pass
        (small_disk / "ballast").unlink()

    assert reopened(path) == held


class FillsAfterSync(Files):
    """Leaves no byte free from the moment that the next batch is committed."""

    def __init__(self, ballast):
        super().__init__()
        self.ballast, self.armed = ballast, False

    def sync_data(self, fd):
        super().sync_data(fd)
        if self.armed:
            self.armed = False
            fill(self.ballast)


def test_an_index_that_met_a_full_disk_goes_on_in_the_same_process(small_disk):
    path = str(small_disk / "store")
    files = FillsAfterSync(small_disk / "ballast")
    hidden = [note(n, id=f"h{n}", stream=notes.HIDDEN) for n in range(300)]
    with notes.store(path, files) as store:
        writer = notes.writer(store)
        writer.append([note("a")])
        files.armed = True
        receipt = writer.append(hidden, key="k")
        for _ in range(2):
            with pytest.raises(DiskFullError):
                writer.append([note("b")])
        (small_disk / "ballast").unlink()

        assert writer.append(hidden, key="k").batch == receipt.batch
        assert writer.append([note("h5 again", id="h5", stream=notes.HIDDEN)]).cursor == 302
        assert writer.read("count", notes.HIDDEN) == b"301"
        writer.close()
        kept = notes.index_items(store)
        notes.rebuild(store)
        assert notes.index_items(store) == kept
