"""Make everything but the journal anew from the journal: index, stream files, state.

A named checkpoint: it reads all of the history, and someone asked for it.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass

from varvite.clock import now
from varvite.disk.files import Folder, storing, write_all
from varvite.disk.lock import Lock
from varvite.disk.system import check_writable
from varvite.session import faces, journal, opening, parts, projecting, recovery, state
from varvite.session import identity as identities
from varvite.session import index as indexes
from varvite.session.identity import Identity
from varvite.session.index import Index
from varvite.session.journal import Position
from varvite.session.kind import Kind
from varvite.session.parts import Batch
from varvite.session.recovery import Recovered
from varvite.session.streams import by_stream

NEW = "index.new.tmp"
OLD = "index.old.tmp"

Progress = Callable[[int, int], None]
"""Called with the seqs done and the seqs in all."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    session: str
    cursor: int
    records: int
    bytes_read: int
    seconds: float
    recovered: Recovered | None = None


def rebuild(
    store: Folder,
    session_id: str,
    kind: Kind,
    *,
    progress: Progress | None = None,
    network: bool = False,
) -> Rebuilt:
    """Rebuild a session's derived files. Takes the writer lock; one part in memory at a time.

    A crash leaves the old files or the new ones; doing it again is safe.

    Raises:
        SessionLockedError, CorruptError, NewerFormatError, StorageError
    """
    began, before = time.monotonic(), store.files.io.bytes_read
    with identities.open_folder(store, session_id) as folder:
        identity = identities.read(folder, writing=True)
        with storing(f"rebuilding {folder.path}"):
            check_writable(folder.path, network=network)
            lock = Lock.acquire(folder, what=session_id)
            try:
                first, at, recovered = _recover(folder, identity)
                counts = _all(folder, identity, kind, first, at, progress)
            finally:
                lock.release()
    read, seconds = store.files.io.bytes_read - before, time.monotonic() - began
    return Rebuilt(session_id, at.seq, sum(counts.values()), read, seconds, recovered)


def _recover(folder: Folder, identity: Identity) -> tuple[int, Position, Recovered | None]:
    """Cut a torn end, as an ordinary open does; the index has no say in what was committed.

    Returns the first seq of the active part, and the place where it ends.
    """
    data = parts.read_active(folder)
    header = journal.read_header(data, folder.where(parts.ACTIVE))
    journal.refuse_newer(header.format, folder.where(parts.ACTIVE))
    opening.refuse_foreign(folder, header, identity)
    opening.refuse_older(folder, header, data)
    clean = state.Clean.read(folder)
    seen = clean.position.seq if clean and clean.uid == identity.uid else 0
    found = recovery.scan(data, header, folder.where(parts.ACTIVE), seen=seen)
    at = recovery.end(found, header)
    recovered = recovery.settle(folder, data, header, at)
    folder.remove(state.Clean.FILE)
    opening.sweep(folder, header)
    return header.first, at, recovered


def _all(
    folder: Folder,
    identity: Identity,
    kind: Kind,
    first: int,
    at: Position,
    progress: Progress | None,
) -> dict[str, int]:
    index = Index(folder, NEW)
    made = _Streams(folder, kind.private)
    try:
        made.begin(kind.streams)
        with closing(parts.batches(folder)) as batches:
            for batch in batches:
                _take(batch, identity, kind, index, made)
                if progress:
                    progress(batch.commit.last, at.seq)
        index.sync()
        made.sync()
        summary = kind.summary(index.get)
        shown = faces.made(kind, index.get)
    finally:
        index.close()
        made.close()
    made.publish()
    _swap(folder)
    faces.write(folder, identity, shown, at.seq)
    state.write(folder, identity, state.State(at, first, made.counts, now(), summary))
    return made.counts


def _take(batch: Batch, identity: Identity, kind: Kind, index: Index, made: "_Streams") -> None:
    lines = [line + b"\n" for line in batch.lines()]
    entries = projecting.replayed(batch.commit, lines, kind.fold, index)
    index.apply(entries, projecting.applied(identity.uid, batch.commit))
    made.append(by_stream(lines))


def _swap(folder: Folder) -> None:
    indexes.remove(folder, OLD)
    if folder.stat(indexes.FOLDER) is not None:
        folder.rename(indexes.FOLDER, OLD)
    folder.rename(NEW, indexes.FOLDER)
    folder.sync()
    indexes.remove(folder, OLD)


class _Streams:
    """The stream files as they are made anew, under names that a sweep removes."""

    def __init__(self, folder: Folder, private: frozenset[str]) -> None:
        self._folder, self._private = folder, private
        self._fds: dict[str, int] = {}
        self.counts: dict[str, int] = {}

    def begin(self, streams: Iterable[str]) -> None:
        """Make the files that a session has from its beginning, whether or not they get a line."""
        for stream in streams:
            if stream not in self._private:
                self._open(stream)

    def append(self, groups: dict[str, list[bytes]]) -> None:
        for stream, lines in groups.items():
            self.counts[stream] = self.counts.get(stream, 0) + len(lines)
            if stream not in self._private:
                write_all(self._folder.files, self._open(stream), b"".join(lines))

    def _open(self, stream: str) -> int:
        if stream not in self._fds:
            self._folder.remove(f"{stream}.jsonl.tmp")
            self._fds[stream] = self._folder.create(f"{stream}.jsonl.tmp")
        return self._fds[stream]

    def sync(self) -> None:
        for fd in self._fds.values():
            self._folder.files.sync_data(fd)

    def close(self) -> None:
        with ExitStack() as last:
            for fd in self._fds.values():
                last.callback(self._folder.files.close, fd)

    def publish(self) -> None:
        for stream in self._fds:
            self._folder.rename(f"{stream}.jsonl.tmp", f"{stream}.jsonl")
