"""Public failures of session logs that the kernel alone must withstand, each by its number.

C is a replay case, F a failure; what the number stands for is in the name.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from varvite.errors import (
    CorruptError,
    DiskFullError,
    ForeignIndexError,
    InvalidIdError,
    NotASessionError,
    SessionExistsError,
    SessionLockedError,
    StaleIndexError,
    StorageError,
    WriterPoisonedError,
)
from varvite.session import identity
from varvite.session.listing import listing
from varvite.session.parts import HEADER_BYTES
from varvite.session.reader import Reader
from varvite.store import GIT_ATTRIBUTES
from varvite.testing import notes
from varvite.testing.faulty import Crash, Fail, Faulty, Kill, ReadSpy
from varvite.testing.notes import note
from varvite.testing.power import Recorder


@pytest.fixture
def active(session):
    return session / "events.ndjson"


def left_by_a_crash(store, *batches):
    """Batches appended by a writer that never closed; where each ended in the active part."""
    writer = notes.writer(store)
    ends = []
    for batch in batches:
        writer.append([note(value) for value in batch])
        ends.append(writer._active.position.offset)
    notes.abandon(writer)
    return ends


def values(store):
    return [values for _, values in notes.journal(store)]


def test_c01_f1_f7_a_torn_tail_is_cut_once_told_and_kept_aside(store, active):
    left_by_a_crash(store, [0], [1], [2], [3], [4])
    with active.open("ab") as file:
        file.write(b'{"seq":5,"type":"ru')

    with notes.writer(store) as writer:
        told = writer.recovered
        assert (told.bytes_cut, told.next_seq) == (19, 6)
        writer.append([note("next")])
    with notes.writer(store) as writer:
        assert writer.recovered is None

    assert values(store) == [[0], [1], [2], [3], [4], ["next"]]
    assert b'"ru' not in active.read_bytes()


def test_c01_a_record_without_its_newline_does_not_exist(store, session, active):
    *_, last = left_by_a_crash(store, [0], [1])
    active.write_bytes(active.read_bytes()[: last - 1])
    with pytest.raises(CorruptError):  # the index knows that it was acknowledged
        notes.writer(store)
    shutil.rmtree(session / "index")
    (session / "state.json").unlink()

    with notes.writer(store) as writer:
        assert writer.append([note("next")]).first == 2

    assert values(store) == [[0], ["next"]]


def test_c02b_nothing_is_ever_glued_to_a_torn_line(store, active):
    number = 0
    while True:
        number += 1
        files = Faulty()
        with notes.store(store.path, files) as faulty:
            writer = notes.writer(faulty)
            files.arm(Kill(number, "half"))
            try:
                writer.append([note("x" * 50)])
                ended = True
            except Crash:
                ended = False
            files.arm(None)
            notes.abandon(writer)
        files.abandon()
        notes.writer(store).close()
        assert all(line.endswith(b"}") for line in active.read_bytes().splitlines())
        assert all(batch == ["x" * 50] for batch in values(store))
        if ended:
            break

    assert number > 4


@pytest.mark.parametrize("glued", [False, True], ids=["a_line_of_its_own", "before_a_record"])
def test_c03ab_f3_nuls_before_a_committed_batch_are_damage_and_never_cut(
    store, session, active, glued
):
    ends = left_by_a_crash(store, [0], [1], [2], [3])
    data = active.read_bytes()
    active.write_bytes(data[: ends[2]] + bytes(300) + b"\n" * (not glued) + data[ends[2] :])
    shutil.rmtree(session / "index")
    (session / "state.json").unlink()
    before = active.read_bytes()

    for attempt in (
        lambda: notes.writer(store),
        lambda: notes.rebuild(store),
        lambda: values(store),
    ):
        with pytest.raises(CorruptError) as caught:
            attempt()
        error = caught.value
        assert (error.file, error.offset, error.batch) == (str(active), ends[2], 4)
        assert "seq 4" in str(error)
    with pytest.raises(CorruptError):
        Reader(store, "s")

    assert active.read_bytes() == before


def test_c03c_f3_a_tail_of_nuls_is_a_torn_tail(store, active):
    left_by_a_crash(store, [0], [1])
    with active.open("ab") as file:
        file.write(bytes(4096))

    with Reader(store, "s") as reader:
        assert reader.cursor == 2
    with notes.writer(store) as writer:
        assert writer.recovered.bytes_cut == 4096
        writer.append([note("next")])

    assert values(store) == [[0], [1], ["next"]]


def test_c05a_f4_two_handles_in_one_process_are_one_writer(store):
    with notes.writer(store) as first:
        first.append([note(1)])
        with pytest.raises(SessionLockedError) as caught:
            notes.writer(store)
        with Reader(store, "s") as reader:
            assert reader.cursor == 1
        first.append([note(2)])

    assert caught.value.pid == os.getpid()
    assert notes.journal(store) == [(1, [1]), (2, [2])]


PEER = """
import sys
from varvite.testing import notes

store = notes.store(sys.argv[1])
held = notes.writer(store, level=sys.argv[2])
print("held", flush=True)
for line in sys.stdin:
    print(held.append([notes.note(line.strip())]).cursor, flush=True)
held.close()
"""


class Peer:
    def __init__(self, path, level="durable"):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PEER, path, level],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        assert self.process.stdout.readline() == "held\n"

    def append(self, text):
        self.process.stdin.write(f"{text}\n")
        return int(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def test_c05b_c05c_f37_another_process_is_refused_even_while_the_holder_is_stopped(store):
    peer = Peer(store.path)
    peer.append("a")
    peer.process.send_signal(signal.SIGSTOP)
    with pytest.raises(SessionLockedError) as caught:
        notes.writer(store)
    peer.process.send_signal(signal.SIGCONT)
    assert peer.append("b") == 2
    peer.end()

    assert caught.value.pid == peer.process.pid
    assert notes.journal(store) == [(1, ["a"]), (2, ["b"])]


def test_c05d_what_a_writer_held_back_is_on_disk_before_the_lock_is_free(store):
    peer = Peer(store.path, "fast")
    for text in "abc":
        peer.append(text)
    peer.process.stdin.close()
    with notes.writer(store, wait_s=20) as writer:
        assert writer.append([note("d")]).first == 4
    peer.process.stdout.close()
    peer.process.wait()

    assert notes.journal(store) == [(n, [text]) for n, text in enumerate("abcd", 1)]


LARGE = """
import sys
from varvite.testing import notes

with notes.store(sys.argv[1]) as store:
    for number in range(8):
        with notes.writer(store, wait_s=60, level="fast") as writer:
            writer.append([notes.note([sys.argv[2], number, "x" * 200_000])])
"""


def test_c06_four_processes_with_large_records_damage_no_line(store):
    processes = [
        subprocess.Popen([sys.executable, "-c", LARGE, store.path, name]) for name in "abcd"
    ]

    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    found = [batch[0][:2] for batch in values(store)]
    assert sorted(found) == [[name, number] for name in "abcd" for number in range(8)]


def test_f4_eight_threads_and_one_writer_splice_no_line(store):
    with notes.writer(store, level="fast", seal_bytes=50_000) as writer:
        threads = [
            threading.Thread(
                target=lambda name=name: [writer.append([note([name, n])]) for n in range(100)]
            )
            for name in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    found = notes.journal(store)
    assert [first for first, _ in found] == list(range(1, 801))
    for name in range(8):
        assert [v[0][1] for _, v in found if v[0][0] == name] == list(range(100))


@pytest.fixture
def indexed(store, session, tmp_path):
    """A session of three parts; its whole index and an older copy stand aside."""
    with notes.writer(store) as writer:
        writer.append([note(1, id="a")], key="k1")
        writer.seal()
        writer.append([note(2, id="a")], key="k2")
        writer.seal()
        writer.append([note(3, id="a")], key="k3")
    shutil.copytree(session / "index", tmp_path / "older")
    with notes.writer(store) as writer:
        writer.append([note(4, id="a"), note(5)], key="k4")
    return notes.index_items(store)


def replace_index(session, source):
    shutil.rmtree(session / "index")
    if source:
        shutil.copytree(source, session / "index")


def test_c10_a_deleted_index_is_refused_and_rebuilt_the_same(store, session, indexed):
    replace_index(session, None)

    with pytest.raises(StaleIndexError):
        notes.writer(store)

    notes.rebuild(store)
    assert notes.index_items(store) == indexed


def test_c10_each_file_of_an_index_deleted_or_truncated_is_never_believed(
    store, session, tmp_path, indexed
):
    shutil.copytree(session / "index", tmp_path / "whole")
    for name in sorted(os.listdir(tmp_path / "whole")):
        for damage in (os.unlink, lambda path: os.truncate(path, 0)):
            replace_index(session, tmp_path / "whole")
            damage(session / "index" / name)
            try:
                notes.writer(store).close()
            except (CorruptError, StaleIndexError):
                notes.rebuild(store)
            assert notes.index_items(store) == indexed


def test_c10_an_older_index_catches_up_from_its_own_cursor(store, session, tmp_path, indexed):
    replace_index(session, tmp_path / "older")

    with notes.writer(store) as writer:
        assert writer.append([note("again")], key="k4").replayed

    assert notes.index_items(store) == indexed


def test_c10_the_index_of_another_session_is_refused(store, session, tmp_path, indexed):
    with notes.store(tmp_path / "other") as other, notes.writer(other) as writer:
        for number in range(5):
            writer.append([note(number)])
    replace_index(session, tmp_path / "other" / "s" / "index")

    with pytest.raises(ForeignIndexError):
        notes.writer(store)

    notes.rebuild(store)
    assert notes.index_items(store) == indexed


def test_c10_a_log_ahead_of_its_index_is_caught_up_reading_the_active_part_alone(
    store, session, tmp_path, indexed
):
    replace_index(session, tmp_path / "older")
    spy = ReadSpy(store.path)

    with notes.store(store.path, spy) as spied:
        notes.writer(spied).close()

    assert notes.index_items(store) == indexed
    assert not [path for path in spy.opened if path.startswith("s/journal/")]


def test_c10_state_deleted_truncated_older_or_foreign_changes_no_answer(store, session, tmp_path):
    with notes.writer(store) as writer:
        writer.append([note(1)])
        older = (session / "state.json").read_bytes()
        writer.append([note(2)])
    with notes.store(tmp_path / "other") as other, notes.writer(other) as writer:
        writer.append([note(n) for n in range(9)])
    foreign = (tmp_path / "other" / "s" / "state.json").read_bytes()

    for data in (None, b"", older, foreign):
        (session / "state.json").unlink(missing_ok=True)
        if data is not None:
            (session / "state.json").write_bytes(data)
        assert [row["cursor"] for row in listing(store)] == [2]


def test_c12_c14_a_list_reads_the_same_whatever_a_session_holds(tmp_path):
    spy = ReadSpy(str(tmp_path / "store"))
    with notes.store(tmp_path / "store") as store, notes.store(tmp_path / "store", spy) as spied:
        identity.create(store, "t", notes.NOTES, parameters={})
        read = []
        for size in (1, 50, 500):
            with notes.writer(store, level="fast", seal_bytes=20_000) as writer:
                for _ in range(size):
                    writer.append([note("x" * 100)])
            spy.clear()
            listing(spied)
            read.append((dict(spy.opened), sum(spy.bytes_by_path.values())))

    assert read[0][0] == read[1][0] == read[2][0]
    assert max(total for _, total in read) - min(total for _, total in read) < HEADER_BYTES


def test_c14_append_and_poll_read_and_open_the_same_at_any_size(tmp_path):
    spy = ReadSpy(str(tmp_path / "store"))
    with notes.store(tmp_path / "store") as store, notes.store(tmp_path / "store", spy) as spied:
        met = []
        for size in (20, 200, 2_000):
            with notes.writer(store, level="fast") as writer:
                writer.append([note("x" * 100) for _ in range(size)])
                writer.seal()
                writer.append([note("y")])
            spy.clear()
            writer = notes.writer(spied)
            writer._state_due = float("inf")
            opening = set(spy.opened)
            with Reader(spied, "s") as reader:
                spy.clear()
                costs = [writer.append([note(number)]).io["bytes_read"] for number in range(20)]
                appended = (dict(spy.opened), sum(spy.bytes_by_path.values()), sum(costs))
                reader.poll()
                spy.clear()
                for _ in range(20):
                    assert reader.poll() == []
                met.append((opening, appended, dict(spy.opened), dict(spy.bytes_by_path)))
            writer.close()

    assert met[0] == met[1] == met[2]
    assert met[0][1:] == (({"s/notes.jsonl": 1}, 0, 0), {}, {})


def test_c23_the_same_key_fourteen_times_is_one_batch(store, active):
    with notes.writer(store) as writer:
        first = writer.append([note(1), note(2)], key="request-7")
        size = active.stat().st_size
        again = [writer.append([note(1), note(2)], key="request-7") for _ in range(13)]

    assert {receipt.first for receipt in again} == {first.first}
    assert active.stat().st_size == size
    assert values(store) == [[1, 2]]


def test_c23_a_batch_sent_again_after_a_lost_reply_is_there_once(store):
    number = 0
    while True:
        number += 1
        files = Faulty()
        with notes.store(store.path, files) as faulty:
            writer = notes.writer(faulty)
            files.arm(Kill(number, "after"))
            try:
                writer.append([note(number)], key=f"k{number}")
                ended = True
            except Crash:
                ended = False
            files.arm(None)
            notes.abandon(writer)
        files.abandon()
        with notes.writer(store) as writer:
            writer.append([note(number)], key=f"k{number}")
        if ended:
            break

    assert values(store) == [[n] for n in range(1, number + 1)]


def test_f6_a_batch_over_several_streams_is_whole_or_absent(tmp_path):
    number = 0
    while True:
        number += 1
        files = Faulty()
        with notes.store(tmp_path / f"store{number}", files) as store:
            writer = notes.writer(store)
            files.arm(Kill(number, "half"))
            try:
                writer.append([note(1), note(1, stream="calls"), note(1, stream="results")])
                ended = True
            except Crash:
                ended = False
            files.arm(None)
            notes.abandon(writer)
        files.abandon()
        with notes.store(tmp_path / f"store{number}") as store:
            with notes.writer(store) as writer:
                whole = writer.cursor
            assert whole in {0, 3}
            session = tmp_path / f"store{number}" / "s"
            lines = [path.read_bytes().count(b"\n") for path in session.glob("*.jsonl")]
            assert sum(lines) == whole
        if ended:
            break


def test_f8_a_retry_after_a_short_write_leaves_one_whole_copy(store, active):
    class Short(Faulty):
        def write(self, fd, data):
            if not self.full:
                return super().write(fd, data)
            super().write(fd, data[: len(data) // 2])
            raise OSError(28, "No space left on device")

        full = False

    files = Short()
    with notes.store(store.path, files) as faulty:
        writer = notes.writer(faulty)
        files.full = True
        with pytest.raises(DiskFullError):
            writer.append([note("x" * 100)], key="k")
        files.full = False
        notes.abandon(writer)
        with notes.writer(store) as writer:
            writer.append([note("x" * 100)], key="k")

    assert values(store) == [["x" * 100]]
    assert active.read_bytes().count(b"x" * 100) == 1


def test_f10_a_new_session_is_on_disk_before_its_first_acknowledgement(tmp_path):
    (tmp_path / "disk").mkdir()
    recorder = Recorder(str(tmp_path / "disk"), unseen=frozenset({"index"}))
    with notes.Folder(recorder, str(tmp_path / "disk")) as store:
        identity.create(store, "s", notes.NOTES, parameters={})
        writer = notes.writer(store)
        writer.append([note("first")])
        recorder.mark(1)
        notes.abandon(writer)

    for number, state in enumerate(recorder.states()):
        if state.acknowledged:
            state.lay_down(str(tmp_path / str(number)))
            with notes.store(tmp_path / str(number)) as store:
                assert values(store) == [["first"]]


def test_f12_a_disk_that_fills_leaves_a_session_that_opens(tmp_path):
    number = 0
    while True:
        number += 1
        files, fault = Faulty(), Fail(number, 28, True, frozenset({"write", "open", "mkdir"}))
        path = tmp_path / f"store{number}"
        with notes.store(path, files) as store:
            writer = notes.writer(store, seal_bytes=600)
            writer.append([note("kept")])
            files.arm(fault)
            for value in range(3):
                with suppress(DiskFullError):
                    writer.append([note(value)])
            with notes.store(path) as sound, Reader(sound, "s") as reader:
                assert reader.cursor == writer.cursor
            files.arm(None)
            writer.append([note("relieved")])
            writer.close()
            held = values(store)
            assert (held[0], held[-1]) == (["kept"], ["relieved"])
        if not fault.struck:
            break


@pytest.mark.parametrize("data", [b"", b'{"type":"session"}\n' * 1000, b"\0" * 3_200_000])
def test_f14_opening_what_is_no_session_never_touches_it(store, tmp_path, data):
    path = tmp_path / "store" / "other"
    path.write_bytes(data)
    (tmp_path / "store" / "linked").symlink_to("s")
    (tmp_path / "store" / "folder").mkdir()

    for name in ("other", "linked", "folder"):
        for attempt in (Reader, lambda s, name: notes.Writer(s, name, notes.NOTES)):
            with pytest.raises(NotASessionError):
                attempt(store, name)
        with pytest.raises(SessionExistsError):
            identity.create(store, name, notes.NOTES, parameters={})

    assert path.read_bytes() == data
    assert os.listdir(tmp_path / "store" / "folder") == []


@pytest.mark.parametrize("code", [5, 28, 4, 24])
def test_f18_a_failed_batch_never_travels_with_the_next(tmp_path, code):
    number = 0
    while True:
        number += 1
        files, fault = Faulty(), Fail(number, code)
        with notes.store(tmp_path / f"store{number}", files) as store:
            writer = notes.writer(store)
            files.arm(fault)
            try:
                writer.append([note("failed?")])
            except StorageError as error:
                failed = type(error).__name__
            else:
                failed = None
            files.arm(None)
            try:
                receipt = writer.append([note("next")])
                assert receipt.io["bytes_written"] > 0
                held = [["next"]] if failed else [["failed?"], ["next"]]
            except WriterPoisonedError:
                assert failed == "CommitUnknownError"
                held = values(store)
                assert held in ([], [["failed?"]])
            writer.close()
            assert values(store) == held
        files.abandon()
        if not fault.struck:
            break


def git(path, *arguments, check=True):
    options = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(path), *options, *arguments],
        check=check,
        capture_output=True,
        env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("attributes", [None, GIT_ATTRIBUTES], ids=["plain", "as_shipped"])
def test_f19_a_git_merge_of_two_branches_that_both_appended(store, session, tmp_path, attributes):
    repository = tmp_path / "store"
    (repository / ".gitignore").write_bytes(b"index/\nlock\nCLEAN\nstate.json\n")
    if attributes:
        (repository / ".gitattributes").write_bytes(attributes)
    with notes.writer(store) as writer:
        writer.append([note("common")])
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "common")
    for branch in ("theirs", "ours"):
        git(repository, "checkout", "-q", "-b", branch, "main")
        (session / "CLEAN").rename(tmp_path / "CLEAN")
        shutil.rmtree(session / "index")
        (session / "state.json").unlink()
        with notes.writer(store) as writer:
            writer.append([note(branch)])
        git(repository, "commit", "-qam", branch)
    merged = git(repository, "merge", "-q", "theirs", check=False)
    shutil.rmtree(session / "index")
    (session / "state.json").unlink()
    (session / "CLEAN").unlink()
    assert merged.returncode == 1

    if attributes:
        with notes.writer(store) as writer:
            writer.append([note("after")])
        assert values(store) == [["common"], ["ours"], ["after"]]
        return
    before = (session / "events.ndjson").read_bytes()
    for attempt in (lambda: notes.writer(store), lambda: notes.rebuild(store)):
        with pytest.raises(CorruptError, match="git conflict"):
            attempt()
    with pytest.raises(CorruptError, match="git conflict"):
        Reader(store, "s")
    assert (session / "events.ndjson").read_bytes() == before


def test_f37_a_lock_of_a_dead_process_is_no_lock_whatever_it_says(store, session):
    peer = Peer(store.path)
    peer.append("a")
    peer.process.send_signal(signal.SIGKILL)
    peer.end()
    (session / "lock").write_bytes(b'{"pid":1,"host":"elsewhere","since":"2020-01-01T00:00:00Z"}')
    inode = (session / "lock").stat().st_ino

    with notes.writer(store) as writer:
        writer.append([note("b")])

    assert (session / "lock").stat().st_ino == inode
    assert values(store) == [["a"], ["b"]]


@pytest.mark.parametrize(
    "name",
    ["../x", "..", ".", "", "/etc", "a/../../x", "a\0b", "A", "CON ", "x" * 65, "é", "a.b", "~"],
)
def test_f39_no_session_id_reaches_beyond_its_store(store, tmp_path, name):
    for attempt in (
        lambda: Reader(store, name),
        lambda: notes.Writer(store, name, notes.NOTES),
        lambda: identity.create(store, name, notes.NOTES, parameters={}),
    ):
        with pytest.raises(InvalidIdError):
            attempt()

    assert os.listdir(tmp_path) == ["store"]
    assert os.listdir(tmp_path / "store") == ["s"]


def test_f39_a_linked_session_directory_is_not_followed(store, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "store" / "linked").symlink_to(outside)

    with pytest.raises(NotASessionError):
        notes.Writer(store, "linked", notes.NOTES)

    assert os.listdir(outside) == []


@pytest.mark.parametrize("umask", [0, 0o002, 0o022])
def test_f40_nobody_else_may_read_a_session_whatever_the_umask(tmp_path, umask):
    old = os.umask(umask)
    try:
        with notes.store(tmp_path / "private") as store, notes.writer(store) as writer:
            writer.append([note(1)])
            writer.seal()
            writer.append([note(2), note(3, stream="other")])
    finally:
        os.umask(old)

    session = tmp_path / "private" / "s"
    assert stat.S_IMODE(session.stat().st_mode) == 0o700
    for path in session.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert path.parent.name == "index" or mode in {0o600, 0o700}
