import os
import subprocess
import sys
import threading

import pytest

from varvite.bench import counting
from varvite.bench.counting import counted
from varvite.bench.watched import Watched
from varvite.disk.files import Files
from varvite.errors import StorageError, UnsupportedSystemError


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "index").mkdir()
    for name in ("a", "b", "index/000001.sst", "state.json.77-3.tmp"):
        (tmp_path / name).write_bytes(b"x" * 1000)
    return str(tmp_path)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def test_files_opened_by_any_thread_and_process_are_seen_once_by_their_path(tree):
    with Watched(tree) as watched:
        read(f"{tree}/a")
        read(f"{tree}/index/000001.sst")
        thread = threading.Thread(target=read, args=(f"{tree}/a",))
        thread.start()
        thread.join()
        subprocess.run([sys.executable, "-c", f"open({tree + '/b'!r}).close()"], check=True)
        read(f"{tree}/state.json.77-3.tmp")

        assert watched.opened() == {"a", "b", "index/000001.sst", "state.json.tmp"}
        assert watched.opened() == set()


def test_a_folder_that_is_listed_and_a_file_that_is_renamed_are_not_opened(tree):
    with Watched(tree) as watched:
        os.listdir(f"{tree}/index")
        os.rename(f"{tree}/a", f"{tree}/c")

        assert watched.opened() == set()


def test_a_folder_that_cannot_be_watched_is_told(tree, monkeypatch):
    monkeypatch.setattr(os, "walk", lambda folder: [(f"{folder}/none", [], [])])

    with pytest.raises(StorageError, match="No such file"):
        Watched(tree)


def test_what_went_through_files_and_what_went_past_them_are_told_apart(tree):
    files = Files()

    def call():
        fd = files.open(f"{tree}/a", os.O_RDONLY)
        files.pread(fd, 600, 0)
        files.close(fd)
        read(f"{tree}/b")

    counted(files, call)
    nothing = counted(files, lambda: None)
    found = counted(files, call)

    assert (found.files_opened, found.bytes_read, found.bytes_written) == (1, 600, 0)
    assert found.bytes_read_outside - nothing.bytes_read_outside == 1600
    assert found.bytes_read_all - nothing.bytes_read_all == 1600


def test_what_another_thread_reads_is_of_the_process_alone(tree):
    def call():
        thread = threading.Thread(target=read, args=(f"{tree}/a",))
        thread.start()
        thread.join()

    counted(Files(), call)
    nothing = counted(Files(), lambda: None)
    found = counted(Files(), call)

    assert found.bytes_read_outside == nothing.bytes_read_outside
    assert found.bytes_read_all - nothing.bytes_read_all == 1000


def test_a_system_that_counts_no_bytes_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(counting, "_THREAD", str(tmp_path / "none"))

    with pytest.raises(UnsupportedSystemError):
        counted(Files(), lambda: None)
