"""Foreign bytes as numbered lines, with a cursor from which reading can go on."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from varvite.disk.files import Files, storage_error
from varvite.errors import InputError, LimitError, NotFoundError
from varvite.records.foreign import LogCursor

CHUNK_BYTES = 1 << 20
LINE_BYTES_MAX = 4 << 20


class Line(NamedTuple):
    """A line without its newline. Numbers count from 1."""

    number: int
    data: bytes


class LineSplitter:
    """Cuts chunks at LF, and knows the cursor after the line it gave out last.

    The lines are the same however the bytes are cut into chunks. Reads each byte
    once, and holds one chunk and one line.
    """

    def __init__(self, source: str, *, generation: int = 1) -> None:
        self.source = source
        self.generation = generation
        self._hash = hashlib.sha256()
        self._offset = self._lines = 0
        self._rest: list[bytes] = []
        self._rest_size = 0

    @property
    def cursor(self) -> LogCursor:
        return LogCursor(self._offset, self._hash.hexdigest(), self._lines, self.generation)

    @property
    def unfinished(self) -> int:
        """Bytes of a line whose newline has not come yet."""
        return self._rest_size

    def skip(self, chunks: Iterable[bytes], after: LogCursor) -> bool:
        """Pass over the bytes before a cursor; whether they are the ones it was made from."""
        for chunk in chunks:
            self._hash.update(chunk)
            self._offset += len(chunk)
        self._lines = after.lines
        return self.cursor == after

    def lines(self, chunks: Iterable[bytes]) -> Iterator[Line]:
        """The finished lines.

        Raises:
            LimitError: .file .line .offset of a line over LINE_BYTES_MAX.
        """
        for chunk in chunks:
            *ends, rest = chunk.split(b"\n")
            for end in ends:
                yield self._line(end, b"\n")
            self._hold(rest)

    def last(self) -> Iterator[Line]:
        """The unfinished line, if there is one, taken as a whole one."""
        if self._rest_size:
            yield self._line(b"", b"")

    def _line(self, end: bytes, newline: bytes) -> Line:
        self._hold(end)
        data = b"".join(self._rest)
        self._rest, self._rest_size = [], 0
        self._hash.update(data + newline)
        self._offset += len(data) + len(newline)
        self._lines += 1
        return Line(self._lines, data)

    def _hold(self, piece: bytes) -> None:
        self._rest_size += len(piece)
        if self._rest_size > LINE_BYTES_MAX:
            number = self._lines + 1
            raise LimitError(
                f"{self.source}:{number}: a line over {LINE_BYTES_MAX >> 20} MiB",
                hint="take it out of the log, or import a copy without it",
                file=self.source,
                line=number,
                offset=self._offset,
            )
        if piece:
            self._rest.append(piece)


@dataclass(frozen=True, slots=True)
class OpenLog:
    """A regular file open for reading."""

    files: Files
    fd: int

    def chunks(self, begin: int, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `begin` to `end`, or to where the file ends when they are read."""
        while end is None or begin < end:
            size = CHUNK_BYTES if end is None else min(CHUNK_BYTES, end - begin)
            chunk = self.files.pread(self.fd, size, begin)
            if not chunk:
                return
            begin += len(chunk)
            yield chunk


@contextmanager
def opened(path: str, files: Files) -> Iterator[OpenLog]:
    """Open somebody else's log, through symbolic links.

    Raises:
        NotFoundError, InputError: .file
    """
    try:
        fd = files.open(os.path.realpath(path), os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFoundError(f"{path}: no such log", file=path) from None
    except OSError as error:
        raise storage_error(error, f"reading {path}") from error
    try:
        if not stat.S_ISREG(files.fstat(fd).st_mode):
            raise InputError(f"{path} is not a regular file", file=path)
        yield OpenLog(files, fd)
    finally:
        files.close(fd)


def resumed(log: OpenLog, source: str, after: LogCursor | None) -> LineSplitter:
    """A splitter that stands after `after`, or at the start of a new generation."""
    if after is None:
        return LineSplitter(source)
    splitter = LineSplitter(source, generation=after.generation)
    if splitter.skip(log.chunks(0, after.offset), after):
        return splitter
    return LineSplitter(source, generation=after.generation + 1)
