import threading
import time

import pytest

from varvite.disk.files import Files
from varvite.errors import CommitUnknownError, WriterPoisonedError
from varvite.session import group_sync
from varvite.testing import notes
from varvite.testing.notes import note


class SlowSync(Files):
    """Counts syncs of data, and lets others run while one is going on."""

    def __init__(self):
        super().__init__()
        self.data_syncs = 0
        self.fails = False

    def sync_data(self, fd):
        self.data_syncs += 1
        time.sleep(0.002)
        if self.fails:
            raise OSError(5, "Input/output error")
        super().sync_data(fd)


def levels(store):
    with store.folder(notes.SESSION) as folder:
        return [batch.commit.level for batch in notes.parts.batches(folder)]


def synced(store):
    with store.folder(notes.SESSION) as folder:
        return [batch.commit.synced for batch in notes.parts.batches(folder)]


@pytest.fixture
def slow(tmp_path):
    with notes.store(tmp_path / "slow", SlowSync()) as folder:
        yield folder


def threads(number, work):
    running = [threading.Thread(target=work, args=(each,)) for each in range(number)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()


def test_each_level_syncs_as_it_says_and_is_in_the_commit_line(slow):
    with notes.writer(slow) as writer:
        writer._state_due = float("inf")
        cost = {}
        for level in ("durable", "group", "fast"):
            before = slow.files.data_syncs
            writer.append([note(level, stream=notes.HIDDEN)], level=level)
            cost[level] = slow.files.data_syncs - before

    assert cost == {"durable": 1, "group": 1, "fast": 0}
    assert levels(slow) == ["durable", "group", "fast"]


def test_a_commit_line_says_what_was_on_disk_when_it_was_written(slow):
    with notes.writer(slow) as writer:
        for level in ("durable", "fast", "fast", "group", "durable", "fast"):
            writer.append([note(level)], level=level)
        writer.seal()
        writer.append([note("next part")], level="fast")

    assert synced(slow) == [0, 1, 1, 1, 4, 5, 6]


def test_a_group_of_threads_shares_syncs_and_every_batch_is_whole(slow, monkeypatch):
    receipts = []
    with notes.writer(slow, level="group") as writer:
        before = slow.files.data_syncs

        def work(thread):
            for number in range(10):
                receipts.append(writer.append([note([thread, number]), note([thread, number])]))

        threads(8, work)
        syncs = slow.files.data_syncs - before

    found = notes.journal(slow)
    assert syncs < 80
    assert len(found) == 80
    assert [first for first, _ in found] == list(range(1, 161, 2))
    assert sorted(receipt.first for receipt in receipts) == list(range(1, 161, 2))
    for thread in range(8):
        mine = [values[0][1] for _, values in found if values[0][0] == thread]
        assert mine == list(range(10))


def test_no_batch_is_acknowledged_before_a_sync_that_began_after_its_write(tmp_path, monkeypatch):
    """Also while parts are sealed between the write and the sync of a group."""

    class Watching(SlowSync):
        def __init__(self):
            super().__init__()
            self.sure = {}

        def sync_data(self, fd):
            status = self.fstat(fd)
            super().sync_data(fd)
            self.sure[status.st_ino] = max(self.sure.get(status.st_ino, 0), status.st_size)

    monkeypatch.setattr(group_sync, "WINDOW_S", 0.001)
    files = Watching()
    unsure = []
    with (
        notes.store(tmp_path / "w", files) as store,
        notes.writer(store, level="group", seal_bytes=2_000) as writer,
    ):

        def work(thread):
            for number in range(15):
                level = "fast" if thread == 0 else "group"
                with writer._mutex:
                    inode = writer._active.inode
                receipt = writer.append([note([thread, number])], level=level)
                if level == "group" and not _is_sure(writer, files, receipt, inode):
                    unsure.append(receipt)

        threads(5, work)

    assert unsure == []
    assert len(notes.journal(notes.store(tmp_path / "w"))) == 75


def _is_sure(writer, files, receipt, _inode):
    """Whether the file that holds the batch was synced beyond the batch's end."""
    with writer._mutex, writer.folder.folder("journal") as sealed:
        names = [*((sealed, name) for name in sealed.names()), (writer.folder, "events.ndjson")]
        for folder, name in names:
            data = folder.read(name)
            at = data.find(b'{"commit":{"batch":%d,' % receipt.batch)
            if at >= 0:
                end = data.index(b"\n", at) + 1
                return files.sure.get(folder.stat(name).st_ino, 0) >= end
    return False


def test_a_known_key_is_answered_only_when_its_batch_is_on_disk(slow):
    with notes.writer(slow) as writer:
        writer.append([note(1)], key="k", level="fast")
        before = slow.files.data_syncs

        assert writer.append([note(1)], key="k", level="fast").replayed
        assert slow.files.data_syncs == before
        assert writer.append([note(1)], key="k").replayed
        assert slow.files.data_syncs == before + 1
        assert writer.append([note(1)], key="k").replayed
        assert slow.files.data_syncs == before + 1


@pytest.mark.parametrize("level", ["durable", "group"])
def test_a_failed_sync_ends_the_writer_for_good(slow, level):
    writer = notes.writer(slow, level=level)
    writer.append([note(1)])
    slow.files.fails = True
    with pytest.raises(CommitUnknownError):
        writer.append([note(2)])
    slow.files.fails = False

    for attempt in (
        lambda: writer.append([note(3)]),
        writer.seal,
        lambda: writer.read("count", "notes"),
    ):
        with pytest.raises(WriterPoisonedError):
            attempt()
    writer.close()

    with notes.writer(slow) as writer:
        writer.append([note(4)])
    assert [values for _, values in notes.journal(slow)] == [[1], [2], [4]]


def test_every_thread_of_a_group_hears_of_a_failed_sync(slow):
    writer = notes.writer(slow, level="group")
    slow.files.fails = True
    heard = []

    def work(thread):
        try:
            writer.append([note(thread)])
        except (CommitUnknownError, WriterPoisonedError) as error:
            heard.append(type(error))

    threads(6, work)
    writer.close()

    assert len(heard) == 6
    assert CommitUnknownError in heard


def test_closing_and_sealing_sync_what_was_fast(slow):
    with notes.writer(slow, level="fast") as writer:
        writer.append([note(1)])
        before = slow.files.data_syncs
        writer.seal()
        assert slow.files.data_syncs > before
        writer.append([note(2)])
        before = slow.files.data_syncs

    assert slow.files.data_syncs > before


def test_a_write_during_a_sync_waits_for_the_next_one():
    syncs = []

    def sync():
        syncs.append(group.wrote() if not syncs else None)

    group = group_sync.GroupSync(sync, window_s=0)
    group.wait(group.wrote())
    during = syncs[0]

    group.wait(during)

    assert (during, len(syncs)) == (2, 2)
    group.wait(during)
    assert len(syncs) == 2
