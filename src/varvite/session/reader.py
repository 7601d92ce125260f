"""Reading a session beside its writer: no lock, no write permission, whole batches only."""

from collections.abc import Iterator
from typing import Self

from varvite.disk.files import Folder, read_all
from varvite.errors import CorruptError
from varvite.session import identity as identities
from varvite.session import journal, parts, state
from varvite.session.journal import Commit
from varvite.session.parts import Batch


class Reader:
    """A session as it is read. `cursor` moves when `poll` finds new batches."""

    def __init__(self, store: Folder, session_id: str) -> None:
        """Open for reading and find the last committed batch.

        Reads `state.json` and the journal beyond the place it speaks of, else the
        active part; never history.

        Raises:
            SessionNotFoundError, NotASessionError, CorruptError, NewerFormatError
        """
        self.folder = identities.open_folder(store, session_id)
        self._fd = -1
        try:
            self.identity = identities.read(self.folder)
            self.state = state.read(self.folder, self.identity)
            self._fd = parts.open_active(self.folder)
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
        known = self.state
        current = known is not None and known.part_first == header.first
        size = self.folder.files.fstat(self._fd).st_size
        if known and current and known.position.offset <= size:
            self.position = known.position
        else:
            self.position = header.position
        self.last: Commit | None = None
        for _ in self.poll():
            pass

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

        With nothing new it reads no byte: one fstat and one stat.
        """
        found = list(self._read_new())
        while self._replaced():
            found += self._follow()
            found += self._read_new()
        return found

    def _read_new(self) -> Iterator[Batch]:
        start = self.position
        if self.folder.files.fstat(self._fd).st_size <= start.offset:
            return
        data = read_all(self.folder.files, self._fd, start.offset)
        for block in journal.blocks(data, start._replace(offset=0)):
            self.position = journal.position(block)._replace(offset=start.offset + block.end)
            self.last = block.commit
            yield Batch(block.commit, data[block.begin : block.middle])

    def _replaced(self) -> bool:
        status = self.folder.stat(parts.ACTIVE)
        return status is None or status.st_ino != self.folder.files.fstat(self._fd).st_ino

    def _follow(self) -> list[Batch]:
        """Go over to the part that has the name now; what lies between is returned."""
        fd = parts.open_active(self.folder)
        header = parts.read_header(self.folder, fd)
        between: list[Batch] = []
        if header.first != self._first:
            upto = header.position.seq
            if upto > self.cursor:
                beyond = self.batches(self.cursor)
                between = [batch for batch in beyond if batch.commit.last <= upto]
            self._first, self.position = header.first, header.position
        self.folder.files.close(self._fd)
        self._fd = fd
        return between

    def batches(self, after: int = 0) -> Iterator[Batch]:
        """Every committed batch beyond seq `after`. Reads history: not for continuation."""
        return parts.batches(self.folder, after)

    def close(self) -> None:
        if self._fd >= 0:
            self.folder.files.close(self._fd)
            self._fd = -1
        self.folder.close()
