"""Records by id, whole, out of their stream file: a search by seq, not a scan.

For what is asked by name, as a projection that needs the text of a claim; no step reads
a stream file.
"""

from collections.abc import Iterable
from typing import Any

import orjson

from varvite.disk.files import Folder
from varvite.errors import CorruptError, RecordNotFoundError
from varvite.session import records as kernel
from varvite.session.kind import Read

PAGE_BYTES = 4096
_HEAD = b'{"seq":'


def records(folder: Folder, stream: str, ids: Iterable[str], read: Read) -> list[dict[str, Any]]:
    """The latest revision of each id, in the order given.

    Reads a page for each halving of the file, and the line.

    Raises:
        RecordNotFoundError: an id has no record.
        CorruptError: the file has not what the index says; `varvite rebuild` makes it anew.
    """
    wanted = [(one, seq_of(stream, one, read)) for one in ids]
    if not wanted:
        return []
    fd = folder.open(f"{stream}.jsonl")
    try:
        return [_Lines(folder, fd, f"{stream}.jsonl").at(seq, one) for one, seq in wanted]
    finally:
        folder.files.close(fd)


def seq_of(stream: str, record_id: str, read: Read) -> int:
    """The seq of the latest revision. One read.

    Raises:
        RecordNotFoundError
    """
    seq = kernel.seq_of(read, stream, record_id)
    if seq is None:
        raise RecordNotFoundError(
            f"no record {record_id[:80]!r} in {stream}",
            hint="its id is the one that we gave it, as `node_id` of a packet's evidence",
        )
    return seq


class _Lines:
    def __init__(self, folder: Folder, fd: int, name: str) -> None:
        self._folder, self._fd, self._name = folder, fd, name
        self._size = folder.files.fstat(fd).st_size

    def at(self, seq: int, record_id: str) -> dict[str, Any]:
        """The record with this seq; the lines are in the order of seq."""
        low, high = 0, self._size
        while low < high:
            middle = (low + high) // 2
            begin = self._line_after(middle, low)
            if begin < high and self._seq_at(begin) < seq:
                low = self._end_of(begin)
            else:
                high = middle
        return self._checked(low, seq, record_id)

    def _line_after(self, offset: int, low: int) -> int:
        """Where the first line begins at or after `offset`; `low` begins one."""
        return low if offset == low else self._end_of(offset - 1)

    def _end_of(self, offset: int) -> int:
        """The byte after the next newline."""
        while offset < self._size:
            page = self._folder.files.pread(self._fd, PAGE_BYTES, offset)
            end = page.find(b"\n")
            if end >= 0:
                return offset + end + 1
            offset += len(page) or self._size
        return self._size

    def _seq_at(self, begin: int) -> int:
        head = self._folder.files.pread(self._fd, 32, begin)
        digits = head.removeprefix(_HEAD).partition(b",")[0]
        if not head.startswith(_HEAD) or not digits.isdigit():
            raise self._corrupt(begin)
        return int(digits)

    def _checked(self, begin: int, seq: int, record_id: str) -> dict[str, Any]:
        data = self._folder.files.pread(self._fd, self._end_of(begin) - begin, begin)
        try:
            found: dict[str, Any] = orjson.loads(data)
        except orjson.JSONDecodeError:
            raise self._corrupt(begin) from None
        if (found.get("seq"), found.get("id")) != (seq, record_id):
            raise self._corrupt(begin)
        return found

    def _corrupt(self, offset: int) -> CorruptError:
        file = self._folder.where(self._name)
        return CorruptError(
            f"{file} is not what the index says",
            hint="`varvite rebuild` makes it anew from the journal",
            file=file,
            offset=offset,
        )
