import os
import signal
import subprocess
import sys
import time

import orjson
import pytest

from varvite.disk.files import Files
from varvite.disk.lock import Lock
from varvite.errors import ForeignWriterError, SessionLockedError, VarviteError
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.faulty import Faulty
from varvite.testing.notes import note

HOLDER = """
import sys
from varvite.testing import notes

with notes.store(sys.argv[1]) as store, notes.writer(store) as writer:
    print("held", flush=True)
    for line in sys.stdin:
        print(writer.append([notes.note(line.strip())]).cursor, flush=True)
"""


class Holder:
    """Another process that has the session open, and appends a note for each line."""

    def __init__(self, path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout.readline() == "held\n"

    def append(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.close()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def holder(store):
    holder = Holder(store.path)
    yield holder
    if holder.process.poll() is None:
        holder.process.send_signal(signal.SIGCONT)
        holder.process.kill()
    holder.close()


def test_a_second_writer_in_one_process_is_refused_and_the_first_goes_on(store):
    with notes.writer(store) as writer:
        writer.append([note(1)])
        with pytest.raises(SessionLockedError) as caught:
            notes.writer(store)
        with pytest.raises(SessionLockedError):
            notes.rebuild(store)
        writer.append([note(2)])

    assert caught.value.pid == os.getpid()
    assert notes.journal(store) == [(1, [1]), (2, [2])]


def test_a_second_process_is_refused_with_pid_host_and_since(store, holder):
    holder.append("theirs")

    with pytest.raises(SessionLockedError) as caught:
        notes.writer(store)

    assert caught.value.pid == holder.process.pid
    assert caught.value.host == os.uname().nodename
    assert caught.value.since.endswith("Z")
    assert holder.append("theirs too") == 2
    with Reader(store, "s") as reader:
        assert reader.cursor == 2


def test_a_refusal_comes_after_one_try_and_writes_nothing(store, holder, tmp_path):
    files = Faulty()
    began = time.monotonic()
    with notes.store(tmp_path / "store", files) as mine:
        files.arm(None)
        with pytest.raises(SessionLockedError):
            notes.writer(mine)
    took = time.monotonic() - began

    assert files.seen.count("open") == 4  # the session, session.json, the lock, and who signed it
    assert not {"write", "truncate", "mkdir", "unlink", "rename"}.intersection(files.seen)
    assert took < 0.5


def test_kill_9_frees_the_session_at_once(store, holder):
    holder.append("theirs")
    holder.end()

    with notes.writer(store) as writer:
        assert writer.append([note("mine")]).cursor == 2


def test_a_stopped_holder_holds_and_goes_on_when_it_is_let(store, holder):
    holder.append("before")
    holder.process.send_signal(signal.SIGSTOP)

    with pytest.raises(SessionLockedError):
        notes.writer(store)

    holder.process.send_signal(signal.SIGCONT)
    assert holder.append("after") == 2
    holder.close()
    assert notes.journal(store) == [(1, ["before"]), (2, ["after"])]


def test_who_waits_gets_the_session_when_it_is_free(store, holder):
    holder.append("theirs")
    with pytest.raises(SessionLockedError):
        notes.writer(store, wait_s=0.1)
    holder.process.stdin.close()

    with notes.writer(store, wait_s=10) as writer:
        assert writer.append([note("mine")]).cursor == 2


def test_a_deleted_lock_file_ends_the_first_writer_before_its_next_byte(store, session, holder):
    assert holder.append("before") == 1
    (session / "lock").unlink()
    with pytest.raises(SessionLockedError):  # RocksDB's own lock still tells the two apart
        notes.writer(store)

    holder.process.stdin.write("lost?\n")
    holder.process.stdin.close()
    holder.process.wait()
    with notes.writer(store) as second:
        second.append([note("after")])

    assert notes.journal(store) == [(1, ["before"]), (2, ["after"])]


def test_a_writer_that_came_in_by_a_deleted_lock_file_ends_the_first(store, session):
    first = notes.writer(store)
    first.append([note(1)])
    (session / "lock").unlink()
    first.index.close()
    with notes.writer(store) as second:
        second.append([note(2)])
        with pytest.raises(ForeignWriterError):
            first._guard()
        second.append([note(3)])
    with pytest.raises(ForeignWriterError):
        first.close()

    assert notes.journal(store) == [(1, [1]), (2, [2]), (3, [3])]


def test_a_lock_that_was_replaced_is_not_ours_even_if_nobody_holds_it(store, session):
    with notes.writer(store) as writer:
        data = (session / "lock").read_bytes()
        (session / "lock").unlink()
        (session / "lock").write_bytes(data)
        with pytest.raises(ForeignWriterError):
            writer.append([note(1)])
        (session / "lock").unlink()
        notes.abandon(writer)

    assert notes.journal(store) == []


def test_the_lock_file_is_never_removed(store, session):
    with notes.writer(store):
        inode = (session / "lock").stat().st_ino
    notes.writer(store).close()
    notes.rebuild(store)

    assert (session / "lock").stat().st_ino == inode


@pytest.mark.parametrize("text", [b"", b"\0\0\0", b"[1]", b'{"pid":', b'"x"', b"[" * 100_000])
def test_an_illegible_lock_file_decides_nothing(store, session, text):
    (session / "lock").write_bytes(text)

    with notes.writer(store) as writer:
        writer.append([note(1)])
        (session / "lock").write_bytes(text)
        with pytest.raises(SessionLockedError) as caught:
            notes.writer(store)

    assert caught.value.pid is None


def in_child(work):
    """What `work` returns in a forked child, or the name of what it raises."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            result = work()
        except VarviteError as error:
            result = type(error).__name__
        except BaseException as error:
            result = f"raised {error!r}"
        os.write(into, orjson.dumps(result))
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = orjson.loads(pipe.read())
    os.waitpid(pid, 0)
    return answer


def test_a_forked_child_may_not_use_the_writer_of_its_parent(store):
    with notes.writer(store) as writer:
        writer.append([note(1)])

        answers = [
            in_child(lambda: writer.append([note("child")]).cursor),
            in_child(lambda: writer.append([note("child")], key="k").cursor),
            in_child(writer.seal),
            in_child(lambda: writer.read("count", "notes")),
            in_child(writer.close),
            in_child(lambda: notes.writer(store)),
        ]
        writer.append([note(2)])

    refused = "ForeignWriterError"
    assert answers == [refused, refused, refused, refused, None, "SessionLockedError"]
    assert notes.journal(store) == [(1, [1]), (2, [2])]


def test_a_forked_child_that_lives_on_does_not_hold_the_session(store):
    writer = notes.writer(store)
    writer.append([note(1)])
    out, into = os.pipe()
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(into)
        os.write(tell, b"here")
        os.read(out, 1)
        os._exit(0)
    os.close(out)
    assert os.read(told, 4) == b"here"  # what is done after a fork was done
    notes.abandon(writer)

    with notes.writer(store) as second:
        assert second.append([note(2)]).cursor == 2
    for fd in (into, told, tell):
        os.close(fd)
    os.waitpid(pid, 0)


def test_a_forked_child_ends_by_itself(store):
    """RocksDB's destructor would wait for threads that the fork did not take along."""
    program = (
        "import os, sys\nfrom varvite.testing import notes\n"
        "store = notes.store(sys.argv[1])\nwriter = notes.writer(store)\n"
        "writer.append([notes.note(1)])\npid = os.fork()\n"
        "if pid == 0:\n    sys.exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "writer.append([notes.note(2)])\nwriter.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, store.path],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("7\n", 0)
    assert notes.journal(store) == [(1, [1]), (2, [2])]


def test_a_fork_after_a_refused_lock_closes_nothing_of_the_childs(store, tmp_path):
    with notes.writer(store):
        with pytest.raises(SessionLockedError) as caught:
            notes.writer(store)
        assert caught.value.__traceback__ is not None
        path = tmp_path / "mine"

        def work():
            path.write_bytes(b"fine")
            return path.read_bytes().decode()

        assert in_child(work) == "fine"


def test_waiting_tries_until_its_time_is_over(store):
    with notes.writer(store), store.folder("s") as folder:
        began = time.monotonic()
        with pytest.raises(SessionLockedError):
            Lock.acquire(folder, what="s", wait_s=0.15)

    assert 0.15 <= time.monotonic() - began < 2


def test_a_lock_file_that_is_replaced_while_it_is_locked_is_not_the_lock(tmp_path):
    class Replacing(Files):
        """Another process takes the file away between the open and the lock, once."""

        replaced = False

        def open(self, name, flags, *, dir_fd=None):
            fd = super().open(name, flags, dir_fd=dir_fd)
            if name == "lock" and not self.replaced:
                self.replaced = True
                os.unlink(name, dir_fd=dir_fd)
            return fd

    notes.store(tmp_path / "other").close()
    with notes.store(tmp_path / "other", Replacing()) as mine, mine.folder("s") as folder:
        lock = Lock.acquire(folder, what="s", wait_s=5)

        assert lock.is_ours()
        with pytest.raises(SessionLockedError):
            Lock.acquire(folder, what="s")
        lock.release()
