"""The one handle that appends to a session.

A batch is committed by one write and one sync of the journal; what follows
(stream files, index, state) is derived, unsynced, and caught up when it is behind.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import orjson

from varvite import ids
from varvite.clock import Clock, now
from varvite.disk.files import Folder, read_all, storage_error, storing, write_all
from varvite.disk.lock import Lock
from varvite.disk.system import check_writable
from varvite.errors import (
    CommitUnknownError,
    CursorConflictError,
    ForeignWriterError,
    InputError,
    LimitError,
    StorageError,
    WriterPoisonedError,
)
from varvite.session import faces, inbox, journal, opening, parts, projecting, records, state
from varvite.session import identity as identities
from varvite.session.group_sync import GroupSync
from varvite.session.index import Index
from varvite.session.journal import Commit, Level, Position
from varvite.session.kind import Kind, Now

SEAL_BYTES = 8 << 20
STATE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a batch became. `cursor` is its last seq; `io` what committing it cost."""

    cursor: int
    first: int
    batch: int
    at: str
    replayed: bool = False
    io: dict[str, int] = field(default_factory=dict)


class Writer:
    """An open session. Thread-safe; not to be carried over a fork."""

    def __init__(
        self,
        store: Folder,
        session_id: str,
        kind: Kind,
        *,
        level: Level = "durable",
        wait_s: float = 0,
        actor: str = "agent",
        network: bool = False,
        clock: Clock = now,
        seal_bytes: int = SEAL_BYTES,
    ) -> None:
        """Open for writing, recovering what an unclean stop left.

        Reads the header of the active part where the last writer closed, else the
        active part: at most `seal_bytes` and one batch, whatever the history.

        Raises:
            SessionLockedError, CorruptError, StaleIndexError, ForeignIndexError,
            NewerFormatError, NotASessionError, SessionNotFoundError, StorageError.
        """
        self.kind, self.level, self.actor = kind, level, actor
        self._clock, self._seal_bytes = clock, seal_bytes
        self._mutex = threading.RLock()
        self._pid = os.getpid()
        self._poison: BaseException | None = None
        self._behind = self._unsynced = False
        self._synced_batch = 0
        self._state_due = 0.0
        self._inbox_seen: int | None = None
        self._taking_in = False
        self.files = store.files
        with storing(f"opening {store.where(session_id)}"), ExitStack() as held:
            self.folder = identities.open_folder(store, session_id)
            held.callback(self.folder.close)
            self.identity = identities.read(self.folder, writing=True)
            check_writable(self.folder.path, network=network)
            self._lock = Lock.acquire(self.folder, what=session_id, wait_s=wait_s)
            held.callback(self._lock.release)
            self.index = Index(self.folder)
            held.callback(self.index.close)
            self._open(held)
            self._held = held.pop_all()
        self._group = GroupSync(self._sync)

    def _open(self, held: ExitStack) -> None:
        seen = opening.seen_by(self.index.applied(), self.identity, self._lock)
        self._active, self._streams, data = opening.active_part(
            self.folder, self.identity, self.kind.private, seen=seen
        )
        held.callback(self._close_files)
        opening.sweep(self.folder, self._active.header)
        if self.folder.remove(state.Clean.FILE):
            self.folder.sync()
        opening.catch_up(self.index, self.identity, self.kind, self._active, data, self.folder)
        at = self._active.position
        self._active.position = at._replace(epoch=at.epoch + 1)
        self.recovered = self._active.recovered

    def _close_files(self) -> None:
        try:
            self._streams.close()
        finally:
            self.files.close(self._active.fd)

    @property
    def cursor(self) -> int:
        return self._active.position.seq

    @property
    def stale_streams(self) -> set[str]:
        """Stream files that wait for a rebuild."""
        return set(self._streams.stale)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(
        self,
        given: Sequence[dict[str, Any]],
        *,
        key: str | None = None,
        expected_cursor: int | None = None,
        level: Level | None = None,
    ) -> Receipt:
        """Commit records as one batch and return its receipt.

        Durable when it returns, unless the level says otherwise. A crash inside
        leaves all of the batch or none. Costs one write and one fdatasync,
        whatever the history. A key that was used returns the first receipt.

        Raises:
            InputError: a record is refused; nothing was written.
            CursorConflictError: `expected_cursor` is not the session's cursor.
            DiskFullError, StorageError: the batch is absent; the handle goes on.
            CommitUnknownError: the sync failed; reopen to learn what is there.
            ForeignWriterError: something else wrote; nothing was written.
        """
        level = level or self.level
        self._refuse_child()
        with self._mutex:
            before = self.files.io.copy()
            self._usable()
            if key is not None and (known := self.index.get(projecting.KEYS, ids.record_id(key))):
                if level != "fast":
                    self._sync()
                return _replayed(known)
            self._expect(expected_cursor)
            at = self._clock()
            made = records.lines(given, self.cursor, at, self.actor, self.index.get_many)
            groups = made.by_stream()
            self._expect_streams(groups)
            block, commit = self._build(made.encoded, key, level, at)
            entries = projecting.entries(
                commit, made.records, made.latest, self.kind.fold, self.index
            )
            self._put(block, commit)
            self._project(commit, groups, entries)
            ticket = self._group.wrote()
            receipt = Receipt(
                commit.last, commit.first, commit.batch, at, io=self.files.io.since(before)
            )
            self._look_into_inbox()
        if level == "group":
            self._group.wait(ticket)
        return receipt

    def take_in(self) -> None:
        """Commit what jobs left in the inbox, each act as a batch of its own.

        `append` does it after its own batch, where something new lies there.

        Raises:
            ConflictError, StorageError: of the first act that goes on waiting, after the others.
        """
        with self._mutex:
            self._usable()
            if self._taking_in:
                return
            self._taking_in = True
            try:
                change = inbox.changed(self.folder)
                self._inbox_seen = inbox.settled(change)
                if change is not None:
                    inbox.take_in(self.folder, self._commit_act)
            except BaseException:
                self._inbox_seen = None
                raise
            finally:
                self._taking_in = False

    def _commit_act(self, act: inbox.Act) -> None:
        plan = self.kind.acts.get(act.name)
        if plan is None:
            raise InputError(
                f"a session of kind {self.kind.name} has no act {act.name!r}",
                hint=f"there are: {', '.join(sorted(self.kind.acts)) or 'none'}",
            )
        if self.index.get(projecting.KEYS, ids.record_id(act.key)):
            return
        identity = self.identity
        now = Now(identity.id, identity.parameters, self.cursor, self.index.get)
        made = [{"actor": act.actor} | record for record in plan(act.payload, now)]
        if made:
            level: Level = "durable" if self.level == "group" else self.level
            self.append(made, key=act.key, expected_cursor=self.cursor, level=level)

    def _look_into_inbox(self) -> None:
        """One stat, where nobody left anything. The batch before it stands whatever comes here."""
        with suppress(Exception):  # what waits is looked at again after the next batch
            if inbox.changed(self.folder) != self._inbox_seen:
                self.take_in()

    def read(self, table: str, key: str) -> bytes | None:
        """The index value of (table, key) as of the cursor.

        One lookup; where an append left the index behind it is caught up first.

        Raises:
            WriterPoisonedError, ForeignWriterError, StorageError
        """
        self._refuse_child()
        with self._mutex:
            self._usable()
            return self.index.get(table, key)

    def _refuse_child(self) -> None:
        """Before the mutex, which a thread of the parent may have held at the fork."""
        if os.getpid() != self._pid:
            raise ForeignWriterError(f"{self.folder.path} was opened by the parent of this process")

    def _usable(self) -> None:
        if self._poison is not None:
            raise WriterPoisonedError(f"{self.folder.path}: {self._poison}")
        if self.folder.fd < 0:
            raise StorageError(f"{self.folder.path} is closed", hint="open it again")
        if self._behind:
            self._settle()

    def _expect(self, cursor: int | None) -> None:
        if cursor is not None and cursor != self.cursor:
            raise CursorConflictError(
                f"the session is at cursor {self.cursor}, not at {cursor}",
                hint="read what is new, then append again",
                cursor=self.cursor,
            )

    def _expect_streams(self, groups: Mapping[str, list[bytes]]) -> None:
        streams = len(self._streams.sizes.keys() | groups.keys())
        if streams > journal.STREAMS_MAX:
            raise LimitError(
                f"a session of {streams} streams; the limit is {journal.STREAMS_MAX}",
                hint="a stream is a kind of record; put what differs into a field",
                path="[].stream",
                limit=journal.STREAMS_MAX,
            )

    def _build(
        self, lines: list[bytes], key: str | None, level: Level, at: str
    ) -> tuple[bytes, Commit]:
        if self._active.position.offset >= self._seal_bytes:
            self._seal()
        after = self._active.position
        if not self._unsynced:
            self._synced_batch = after.batch
        return journal.build(lines, after, key=key, level=level, at=at, synced=self._synced_batch)

    def _guard(self) -> None:
        """See that lock and journal are still the ones we opened. Two stats."""
        with storing(f"looking at {self.folder.path}"):
            status = self.folder.stat(parts.ACTIVE)
            locked = self._lock.is_ours()
        ours = status and (status.st_ino, status.st_size) == (
            self._active.inode,
            self._active.position.offset,
        )
        if not ours or not locked:
            raise ForeignWriterError(f"{self.folder.path} changed under this writer")

    def _put(self, block: bytes, commit: Commit) -> None:
        """Write a block and take it in. What interrupts it half-way ends this writer."""
        self._guard()
        self._poison = InterruptedError("an append was cut short")
        self._write(block)
        self._unsynced = True
        try:
            if commit.level == "durable":
                self._sync_data()
            self._behind = True
            at = self._active.position
            self._active.position = Position(
                commit.last, commit.batch, commit.crc, at.epoch, at.offset + len(block)
            )
        except Exception as error:
            self._poison = error
            raise CommitUnknownError(f"{self.folder.path}: the sync failed: {error}") from error
        self._poison = None

    def _write(self, block: bytes) -> None:
        try:
            write_all(self.files, self._active.fd, block)
        except BaseException as error:
            self._roll_back(error)
            if isinstance(error, OSError):
                raise storage_error(error, f"appending to {self.folder.path}") from error
            raise

    def _roll_back(self, cause: BaseException) -> None:
        try:
            self.files.truncate(self._active.fd, self._active.position.offset)
        except Exception as error:  # a part of the batch stays: only recovery may cut it
            self._poison = error
            raise CommitUnknownError(
                f"{self.folder.path}: {cause}, and then taking it back: {error}"
            ) from error
        self._poison = None

    def _sync(self) -> None:
        """Sync the journal where it is not. Takes the mutex, so no part is sealed meanwhile.

        After a failed sync the page cache lies, so the writer is done for.
        """
        with self._mutex:
            if not self._unsynced:
                return
            if self._poison is not None:
                raise CommitUnknownError(f"{self.folder.path}: {self._poison}")
            try:
                with self._poisoning():
                    self._sync_data()
            except Exception as error:
                raise CommitUnknownError(f"{self.folder.path}: the sync failed: {error}") from error

    def _sync_data(self) -> None:
        self.files.sync_data(self._active.fd)
        self._unsynced = False

    @contextmanager
    def _poisoning(self) -> Iterator[None]:
        """End this writer where a sync of the block fails: the next one would lie."""
        try:
            yield
        except BaseException as error:
            self._poison = error
            raise

    def _project(
        self, commit: Commit, groups: Mapping[str, list[bytes]], entries: dict[bytes, bytes]
    ) -> None:
        """Bring stream files, index and state up to a commit, which stands whatever fails here."""
        try:
            self._streams.append(groups)
            self.index.apply(entries, projecting.applied(self.identity.uid, commit))
            self._streams.count(groups)
            self._behind = False
            if time.monotonic() >= self._state_due:
                self.write_state(commit.at)
        except Exception:  # noqa: BLE001  (the next call settles or raises)
            return

    def _settle(self) -> None:
        """Bring the projections from the part's beginning to its end again."""
        self._guard()
        with storing(f"catching up {self.folder.path}"):
            if self.index.failed:
                self.index.reopen()
            data = read_all(self.files, self._active.fd)
            blocks = list(journal.blocks(data, self._active.header.position))
            self._streams.sizes = dict(self._active.header.streams)
            opening.rewrite_streams(self._streams, data, blocks)
            opening.catch_up(self.index, self.identity, self.kind, self._active, data, self.folder)
        self._behind = False

    def seal(self) -> None:
        """Seal the active part, so that it can be compacted whole.

        Raises:
            DiskFullError, StorageError: it is not sealed; the handle goes on unless a sync failed.
        """
        self._refuse_child()
        with self._mutex:
            self._usable()
            if self._active.position.seq > self._active.header.position.seq:
                self._seal()

    def _seal(self) -> None:
        """The next part is made whole before the last one leaves its name."""
        at, first = self._active.position, self._active.header.first
        self._guard()
        with storing(f"sealing a part of {self.folder.path}"):
            self._sync_all()
            line = journal.header_line(self.identity.uid, at, self._streams.sizes)
            header = journal.read_header(line, self.folder.where(parts.ACTIVE))
            self.folder.remove(opening.NEXT)
            fd = self.folder.create(opening.NEXT, line)
            try:
                inode = self.files.fstat(fd).st_ino
                self._publish_part(fd, first)
            except BaseException:
                self.files.close(fd)
                raise
            position = header.position._replace(epoch=at.epoch)
            sealed, self._active = (
                self._active.fd,
                opening.Active(fd, inode, header, position, None),
            )
            self.files.close(sealed)

    def _sync_all(self) -> None:
        """Sync the journal and what a later open takes for granted about its projections."""
        with self._poisoning():
            self._streams.sync()
        self._sync()
        self._behind = True
        self.index.sync()
        self._behind = False

    def _publish_part(self, fd: int, first: int) -> None:
        self.files.sync(fd)
        name = parts.sealed_name(first)
        if parts.none_sealed(self.folder, self._active.header):
            self.folder.make(parts.SEALED)
        with parts.sealed_folder(self.folder) as sealed:
            if sealed.stat(name) is None:
                self.folder.link(parts.ACTIVE, name, to=sealed)
            with self._poisoning():
                sealed.sync()
        self.folder.rename(opening.NEXT, parts.ACTIVE)
        with self._poisoning():  # a power cut might bring the old part back under the name
            self.folder.sync()

    def write_state(self, at: str | None = None) -> None:
        """Write the kind's faces, then `state.json`, as of the cursor.

        They are derived: a failure leaves them behind.
        """
        made = self._state(at or self._clock())
        try:
            shown = faces.made(self.kind, self.index.get)
            faces.write(self.folder, self.identity, shown, made.cursor)
            state.write(self.folder, self.identity, made)
        except OSError:
            return
        self._state_due = time.monotonic() + STATE_EVERY_S

    def _state(self, at: str) -> state.State:
        header, position = self._active.header, self._active.position
        counts = {name: records for name, (records, _) in sorted(self._streams.sizes.items())}
        summary = self.kind.summary(self.index.get)
        synced = not self._unsynced
        return state.State(position, header.first, counts, at, summary, synced)

    def _is_shown(self) -> bool:
        """Whether `state.json`, and so the faces written before it, are as of the cursor."""
        shown = state.read(self.folder, self.identity)
        if shown is None or not all(self.folder.stat(name) for name in self.kind.faces):
            return False
        made = self._state(shown.at)
        epoch = shown.position.epoch  # of this writer, where nothing was appended
        return replace(made, position=made.position._replace(epoch=epoch)) == shown

    def close(self) -> None:
        """Let the session go. A later open then reads one header.

        Raises:
            CommitUnknownError, ForeignWriterError, StorageError: it is let go all the same;
                the next open recovers.
        """
        if os.getpid() != self._pid:
            return
        with self._mutex:
            if self.folder.fd < 0:
                return
            try:
                if self._poison is None:
                    self._mark_clean()
            finally:
                with storing(f"closing {self.folder.path}"):
                    self._held.close()

    def _mark_clean(self) -> None:
        if self._behind:
            self._settle()
        self._guard()
        with storing(f"closing {self.folder.path}"), self._poisoning():
            self._streams.sync()
        self._sync()
        if not self._is_shown():
            self.write_state()
        marker = state.Clean(
            self.identity.uid,
            self._active.position,
            self._active.header.first,
            self._streams.sizes,
        )
        with storing(f"closing {self.folder.path}"):
            marker.write(self.folder)


def _replayed(value: bytes) -> Receipt:
    batch, first, last, at = orjson.loads(value)
    return Receipt(last, first, batch, at, replayed=True)
