"""The disk fails at every operation of every kind of work: once, for ever, and by ending."""

import errno
import os
import shutil
from itertools import count

import pytest

from varvite.disk.files import Files, Folder
from varvite.errors import (
    ConflictError,
    DamageError,
    DiskFullError,
    SessionExistsError,
    StorageError,
    VarviteError,
    WriterPoisonedError,
)
from varvite.session import identity
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.faulty import Crash, Fail, Faulty, Kill
from varvite.testing.trial import Trial, reopened

CODES = [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS, errno.EACCES, errno.EINTR]
SYNCS = frozenset({"sync", "sync_data"})
SEAL_BYTES = 900
STRIDE = 9
"""Of the second crash; the first one moves where it begins, so that all are met."""


def pair(value):
    return [notes.note(value), notes.note(value, stream="other")]


def new(path):
    notes.store(path).close()
    return []


def closed(path):
    with notes.store(path) as store, notes.writer(store) as writer:
        writer.append(pair("a"))
        writer.seal()
        writer.append(pair("b"))
    return ["a", "b"]


def torn(path):
    with notes.store(path) as store:
        writer = notes.writer(store)
        writer.append(pair("a"))
        writer.seal()
        writer.append(pair("b"))
        notes.abandon(writer)
    for name in ("events.ndjson", "other.jsonl"):
        with open(path / "s" / name, "ab") as file:
            file.write(b'{"seq":5,"stream":"notes","id":"notes-5","value"')
    return ["a", "b"]


def half_sealed(path):
    """As a crash leaves it between the link to the sealed name and the rename."""
    files = Faulty()
    with notes.store(path, files) as store:
        writer = notes.writer(store)
        writer.append(pair("a"))
        files.arm(Kill(1000))
        writer.append(pair("b"))
        files.arm(Kill(_nth(path, "rename", files)))
        with pytest.raises(Crash):
            writer.seal()
        files.arm(None)
        notes.abandon(writer)
    assert os.listdir(path / "s" / "journal") == ["000000000001.ndjson"]
    return ["a", "b"]


def _nth(path, operation, files):
    """The number of the rename in a seal, counted on a copy."""
    copy = path.parent / "count"
    with notes.store(copy, Faulty()) as store:
        writer = notes.writer(store)
        writer.append(pair("x"))
        store.files.arm(None)
        writer.seal()
        number = store.files.seen.index(operation) + 1
        notes.abandon(writer)
    shutil.rmtree(copy)
    return number


STARTS = [new, closed, torn, half_sealed]


@pytest.fixture(params=STARTS, ids=lambda start: start.__name__)
def start(request, tmp_path):
    """A prepared session to be copied, and the values it holds."""
    held = request.param(tmp_path / "prepared")
    copies = count()

    def copy():
        path = tmp_path / f"copy{next(copies)}"
        shutil.copytree(tmp_path / "prepared", path)
        return str(path)

    return copy, held


def work(trial):
    """Open, append over two parts, seal, close; once more after what failed."""
    with notes.store(trial.path, trial.files) as store:
        writer = trial.open(store, seal_bytes=SEAL_BYTES)
        if writer is None:
            return
        for number in range(3):
            trial.append(writer, f"w{number}", key=f"k{number}")
        trial.do(writer.seal)
        trial.append(writer, "w3")
        trial.do(writer.close)


def operations(start):
    copy, held = start
    trial = Trial(copy(), Faulty(), held)
    work(trial)
    assert trial.errors == []
    return trial.files.seen


def run(start, fault, *, whole=False, **options):
    copy, held = start
    trial = Trial(copy(), Faulty(**options), held)
    trial.files.arm(fault)
    trial.run(work)
    assert trial.left_open == set(), (fault, trial.files.seen)
    assert not [error for error in trial.errors if isinstance(error, DamageError | ConflictError)]
    found = reopened(trial.path, whole=whole)
    assert trial.admits(found), (fault, trial.attempts, found)
    shutil.rmtree(trial.path)
    return trial


@pytest.mark.parametrize("forever", [False, True], ids=["once", "for_ever"])
def test_any_operation_may_fail(start, forever):
    number = 2
    while True:
        fault = Fail(number, CODES[number % len(CODES)], forever)
        trial = run(start, fault, whole=number % 8 == 0)
        if not fault.struck:
            break
        number += 1

    assert number > 40
    assert trial.errors == []


def test_the_process_may_end_before_any_operation(start):
    number = 2
    while run(start, Kill(number), whole=number % 8 == 0).crashed:
        number += 1

    assert number > 40


def test_the_process_may_end_half_way_through_any_write(start):
    seen = operations(start)
    writes = [number for number, name in enumerate(seen, 1) if name == "write"]

    for number in writes:
        assert run(start, Kill(number, "half")).crashed

    assert len(writes) > 10


def test_every_write_may_be_short(start):
    for size in (1, 7, 100):
        trial = run(start, None, whole=True, write_at_most=size)
        assert trial.errors == []


def test_after_a_full_disk_is_relieved_the_same_handle_goes_on(start):
    copy, held = start
    number = 2
    while True:
        fault = Fail(number, errno.ENOSPC, True, frozenset({"write", "open", "link", "mkdir"}))
        trial = Trial(copy(), Faulty(), held)
        trial.files.arm(fault)
        with notes.store(trial.path, trial.files) as store:
            writer = trial.open(store, seal_bytes=SEAL_BYTES)
            if writer is not None:
                for value in ("w0", "w1", "w2"):
                    trial.append(writer, value, key=value)
                trial.files.arm(None)
                for value in ("w0", "w1", "w2"):
                    if (value, "sure") not in trial.attempts:
                        trial.attempts.remove((value, "absent"))
                        assert trial.append(writer, value, key=value)
                assert trial.append(writer, "w3")
                writer.close()
        assert all(isinstance(error, DiskFullError) for error in trial.errors)
        trial.files.arm(None)
        found = reopened(trial.path, whole=number % 8 == 0)
        assert sorted(found) == sorted(
            value for value, outcome in trial.attempts if outcome == "sure"
        )
        shutil.rmtree(trial.path)
        if not fault.struck:
            break
        number += 1

    assert number > 20


def test_a_failed_sync_of_any_kind_ends_the_writer_or_is_made_again_whole(start):
    """Never is a sync that failed taken for done because a second one succeeded."""
    copy, held = start
    struck = set()
    seen = operations(start)
    for number in [n for n, name in enumerate(seen, 1) if name in SYNCS]:
        trial = Trial(copy(), Faulty(), held)
        fault = Fail(number, errno.EIO, False, SYNCS)
        trial.files.arm(fault)
        with notes.store(trial.path, trial.files) as store:
            writer = trial.open(store, seal_bytes=SEAL_BYTES)
            if writer is not None:
                for value in ("w0", "w1", "w2", "w3"):
                    trial.append(writer, value)
                if any(name == "sync_data" for name in fault.struck):
                    with pytest.raises(WriterPoisonedError):
                        writer.append(pair("more"))
                trial.do(writer.close)
        struck.update(fault.struck)
        trial.end()
        assert trial.admits(reopened(trial.path, whole=number % 8 == 0))
        shutil.rmtree(trial.path)

    assert struck == SYNCS


def test_a_crash_while_recovering_from_a_crash_changes_nothing(start):
    copy, held = start

    def opens(path, fault):
        trial = Trial(path, Faulty(), held)
        trial.files.arm(fault)

        def opening(trial):
            with notes.store(trial.path, trial.files) as store:
                notes.abandon(notes.writer(store))

        trial.run(opening)
        return trial.crashed

    first = 3
    while True:
        path = copy()
        if not opens(path, Kill(first)):
            break
        second = 3 + first % STRIDE
        while True:
            again = f"{path}-{second}"
            shutil.copytree(path, again)
            crashed = opens(again, Kill(second))
            assert Trial(again, Faulty(), held).admits(reopened(again, whole=False))
            shutil.rmtree(again)
            if not crashed:
                break
            second += STRIDE
        first += 2
        shutil.rmtree(path)


def test_a_rebuild_may_end_before_any_operation(start):
    copy, held = start
    number = 2
    while True:
        trial = Trial(copy(), Faulty(), held)
        trial.files.arm(Kill(number))

        def rebuilding(trial):
            with notes.store(trial.path, trial.files) as store:
                notes.rebuild(store)

        trial.run(rebuilding)
        assert trial.admits(reopened(trial.path, rebuilds=True, whole=number % 8 == 0))
        shutil.rmtree(trial.path)
        if not trial.crashed:
            break
        number += 1

    assert number > 20


def test_a_rebuild_may_fail_at_any_operation_and_be_done_again(start):
    copy, held = start
    number = 2
    while True:
        path = copy()
        files, fault = Faulty(), Fail(number, CODES[number % len(CODES)])
        files.arm(fault)
        trial = Trial(path, files, held)
        with notes.store(path, files) as store:
            trial.do(lambda store=store: notes.rebuild(store))
            files.arm(None)
            notes.rebuild(store)
        assert all(isinstance(error, StorageError) for error in trial.errors)
        files.abandon()
        assert Trial(path, files, held).admits(reopened(path, whole=number % 8 == 0))
        shutil.rmtree(path)
        if not fault.struck:
            break
        number += 1


def creations(tmp_path, make_fault):
    """Create a session under each fault; the path, the error or None, and the fault."""
    for number in count(2):
        path = tmp_path / f"create{number}"
        path.mkdir()
        files, fault = Faulty(), make_fault(number)
        files.arm(fault)
        raised = None
        try:
            with Folder(files, str(path)) as store:
                identity.create(store, "s", notes.NOTES, parameters={})
        except (VarviteError, Crash) as error:
            raised = error
        files.arm(None)
        files.abandon()
        yield path, raised, fault
        shutil.rmtree(path)
        if raised is None and not getattr(fault, "struck", ()):
            return


def test_a_creation_that_fails_leaves_a_whole_session_or_none(tmp_path):
    for forever in (False, True):
        for path, raised, fault in creations(
            tmp_path, lambda n, forever=forever: Fail(n, errno.ENOSPC, forever)
        ):
            assert (path / "s").exists() >= (raised is None)
            if not forever:
                assert set(os.listdir(path)) <= {"s"}, (fault, raised)
            if not (path / "s").exists():
                with Folder(Files(), str(path)) as store:
                    identity.create(store, "s", notes.NOTES, parameters={})
            reopened(str(path))


def test_a_creation_that_is_cut_short_leaves_a_whole_session_or_none(tmp_path):
    for when in ("before", "half"):
        for path, raised, _ in creations(tmp_path, lambda n, when=when: Kill(n, when)):
            assert (path / "s").exists() >= (raised is None)
            with Folder(Files(), str(path)) as store:
                try:
                    identity.create(store, "s", notes.NOTES, parameters={})
                except SessionExistsError:
                    assert (path / "s").exists()
            with notes.store(path) as store, Reader(store, "s") as reader:
                assert reader.cursor == 0
            reopened(str(path))
