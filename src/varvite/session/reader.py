"""Reading a session beside its writer: no lock, no write permission, whole batches only."""

from collections.abc import Iterator
from contextlib import closing
from itertools import takewhile
from typing import Self

from varvite.disk.files import Folder, let_go, read_all, storing
from varvite.errors import CorruptError, VarviteError
from varvite.session import identity as identities
from varvite.session import journal, parts, state
from varvite.session.journal import Commit, Header, Position
from varvite.session.parts import Batch


class Reader:
    """A session as it is read. `cursor` moves when `poll` finds new batches."""

    def __init__(self, store: Folder, session_id: str) -> None:
        """Open for reading and find the last committed batch.

        Reads `state.json` and the journal beyond the place it speaks of, else the
        active part; never history.

        Raises:
            SessionNotFoundError, NotASessionError, CorruptError, NewerFormatError,
            StorageError
        """
        self.folder = identities.open_folder(store, session_id)
        self._fd = -1
        try:
            self.identity = identities.read(self.folder)
            self.state = state.read(self.folder, self.identity)
            self._fd = parts.open_active(self.folder)
            with storing(f"reading {self.folder.path}"):
                self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        header = parts.read_header(self.folder, self._fd)
        if header.uid != self.identity.uid:
            file = self.folder.where(parts.ACTIVE)
            raise CorruptError(f"{file} belongs to another session", file=file, offset=0, batch=0)
        self._first = header.first
        self.position = self._known_position(header)
        self.last: Commit | None = None
        while self.poll():
            pass

    def _known_position(self, header: Header) -> Position:
        """Where `state.json` stands in this part, or the part's beginning."""
        known = self.state
        if known is None or known.part_first != header.first:
            return header.position
        if known.position.offset <= self.folder.files.fstat(self._fd).st_size:
            return known.position
        if known.synced:
            raise self._shorter(known.position)
        return header.position

    def _shorter(self, known: Position) -> CorruptError:
        file = self.folder.where(parts.ACTIVE)
        return CorruptError(
            f"{file} is shorter than it was at seq {known.seq}, byte {known.offset}",
            file=file,
            offset=known.offset,
            batch=known.batch,
        )

    @property
    def cursor(self) -> int:
        return self.position.seq

    @property
    def part_first(self) -> int:
        """The first seq of the part that `position.offset` counts in."""
        return self._first

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> list[Batch]:
        """The batches committed since the last call, in order.

        With nothing new it reads no byte: two fstats and one stat.

        Raises:
            CorruptError: what follows the last batch is damage.
            StorageError
        """
        with storing(f"reading {self.folder.path}"):
            found = self._read_new()
            try:
                while self._replaced():
                    found += self._follow()
                    found += self._read_new()
            except (OSError, VarviteError):
                if not found:  # else the next call meets it again, and nothing found is lost
                    raise
        return found

    def _read_new(self) -> list[Batch]:
        start, file = self.position, self.folder.where(parts.ACTIVE)
        size = self.folder.files.fstat(self._fd).st_size
        if size < start.offset:
            raise self._shorter(start)
        if size == start.offset:
            return []
        data, found = read_all(self.folder.files, self._fd, start.offset), []
        for block in journal.blocks(data, start._replace(offset=0)):
            self.position = journal.position(block)._replace(offset=start.offset + block.end)
            self.last = block.commit
            found.append(Batch(block.commit, data[block.begin : block.middle]))
        if not found:
            parts.refuse_damage(data, file, start._replace(offset=0), base=start.offset)
        return found

    def _replaced(self) -> bool:
        status = self.folder.stat(parts.ACTIVE)
        return status is None or status.st_ino != self.folder.files.fstat(self._fd).st_ino

    def _follow(self) -> list[Batch]:
        """Go over to the part that has the name now; what lies between is returned."""
        fd = parts.open_active(self.folder)
        try:
            header = parts.read_header(self.folder, fd)
            between = self._between(header) if header.first != self._first else []
        except BaseException:
            let_go(self.folder.files, fd)
            raise
        if header.first != self._first:
            self._first, self.position = header.first, header.position
        if between:
            self.last = between[-1].commit
        old, self._fd = self._fd, fd
        let_go(self.folder.files, old)
        return between

    def _between(self, header: Header) -> list[Batch]:
        upto = header.position.seq
        if upto <= self.cursor:
            return []
        with closing(parts.batches(self.folder, self.cursor)) as beyond:
            return list(takewhile(lambda batch: batch.commit.last <= upto, beyond))

    def batches(self, after: int = 0) -> Iterator[Batch]:
        """Every committed batch beyond seq `after`. Reads history: not for continuation.

        Raises:
            CorruptError, StorageError
        """
        upto, last = self.position, after
        with closing(parts.batches(self.folder, after)) as found:
            for batch in found:
                last = batch.commit.last
                yield batch
        if last < upto.seq:
            raise self._shorter(upto)

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            let_go(self.folder.files, fd)
        self.folder.close()
