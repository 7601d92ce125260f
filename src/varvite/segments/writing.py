"""Write one Parquet file so that it can be trusted: page checksums, synced, read back, hashed.

It lies under a temporary name until all of that is done. Every byte goes through `Files`.
"""

import hashlib
import io
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from varvite import ids
from varvite.disk.files import Folder, write_all
from varvite.segments.check import damaged, size_and_crc
from varvite.segments.manifest import TEMPORARY, Segment, Span, ensured, stream_folder
from varvite.segments.scan import columns

ROW_GROUP_ROWS = 64 << 10
ROW_GROUP_BYTES = 64 << 20
PAGE_BYTES = 1 << 20
BUFFER_BYTES = 1 << 20
_HASH_CHARS = 16
_ARROW = {
    "VARCHAR": pa.string(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
}
SORTED_BY = ("session_id", "session_uid", "seq")
_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "write_page_checksum": True,
    "write_statistics": True,
    "data_page_size": PAGE_BYTES,
}
_SAMPLE_ROWS = 4 << 10
_REPEATED = 8


@cache
def schema(stream: str) -> pa.Schema:
    """The Arrow schema of a stream's segments."""
    return pa.schema([(name, _arrow(kind)) for name, kind in columns(stream).items()])


def _arrow(kind: str) -> pa.DataType:
    return pa.list_(_arrow(kind[:-2])) if kind.endswith("[]") else _ARROW[kind]


class Sink(io.RawIOBase):
    """A file that pyarrow writes to, hashed on the way."""

    def __init__(self, folder: Folder, name: str) -> None:
        super().__init__()
        self.size, self.crc, self.sha = 0, 0, hashlib.sha256()
        self._files, self._fd = folder.files, folder.create(name)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.size

    def write(self, data: Any) -> int:
        piece = memoryview(data).cast("B")
        write_all(self._files, self._fd, bytes(piece))
        self.crc = zlib.crc32(piece, self.crc)
        self.sha.update(piece)
        self.size += len(piece)
        return len(piece)

    def settle(self) -> None:
        """Sync, so that the file is whole before anything names it."""
        self._files.sync(self._fd)

    def release(self) -> None:
        if self._fd >= 0:
            self._files.close(self._fd)
            self._fd = -1


class Draft:
    """A segment that nobody sees yet, below `_lake/tmp`.

    `write` its row groups, `finish` with the same ones again, then `publish`.
    """

    def __init__(self, lake: Folder, stream: str) -> None:
        self._lake, self.stream = lake, stream
        self._name = f"{ids.uid()}.parquet.tmp"
        self._folder = ensured(lake, TEMPORARY)
        try:
            self._sink = Sink(self._folder, self._name)
        except BaseException:
            self._folder.close()
            raise
        self.rows = 0

    def write(self, groups: Iterable[pa.Table]) -> None:
        """Write the tables, at least one, each as one row group, and sync."""
        rest = iter(groups)
        first = next(rest)
        with pq.ParquetWriter(
            self._sink, first.schema, use_dictionary=_repeating(first), **_OPTIONS
        ) as writer:
            for table in chain([first], rest):
                writer.write_table(table, row_group_size=table.num_rows)
                self.rows += table.num_rows
        self._sink.settle()

    def finish(self, groups: Iterable[pa.Table]) -> None:
        """Read the file back, page checksums verified, and compare every value.

        Raises:
            CorruptError: the disk gives back something else.
        """
        rows = 0
        with opened(self._folder, self._name) as file:
            for number, table in enumerate(groups):
                if not file.read_row_group(number).equals(table):
                    raise damaged(self._folder.where(self._name), "it does not read back the same")
                rows += table.num_rows
        same = rows == self.rows and size_and_crc(self._folder, self._name) == (
            self._sink.size,
            self._sink.crc,
        )
        if not same:
            raise damaged(self._folder.where(self._name), "it does not read back the same")

    def publish(
        self, generation: int, number: int, tier: int, sessions: Mapping[str, Span]
    ) -> Segment:
        """Give the file its name, durably. It is data once a manifest lists it."""
        digest = self._sink.sha.hexdigest()
        name = f"{generation}-{number}-{digest[:_HASH_CHARS]}.parquet"
        place = stream_folder(self.stream)
        with ensured(self._lake, place) as folder:
            self._folder.rename(self._name, name, to=folder)
            folder.sync()
        path = f"{place}/{name}"
        return Segment(
            path, self.stream, tier, self.rows, self._sink.size, self._sink.crc, digest, sessions
        )

    def close(self) -> None:
        """Let go; what was not published is removed."""
        self._sink.release()
        with suppress(OSError):
            self._folder.remove(self._name)
        self._folder.close()


def _repeating(table: pa.Table) -> list[str]:
    """The columns whose values repeat: a dictionary of all others costs a third of the writing."""
    head = table.slice(0, _SAMPLE_ROWS)
    return [
        name
        for name in table.column_names
        if not pa.types.is_nested(head.schema.field(name).type)
        and pc.count_distinct(head[name]).as_py() * _REPEATED <= head.num_rows
    ]


def row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables that are fit to be row groups."""
    held: list[pa.Table] = []
    rows = size = 0
    for table in tables:
        for piece in _pieces(table):
            full = rows + piece.num_rows > ROW_GROUP_ROWS or size + piece.nbytes > ROW_GROUP_BYTES
            if held and full:
                yield pa.concat_tables(held)
                held, rows, size = [], 0, 0
            held.append(piece)
            rows += piece.num_rows
            size += piece.nbytes
    if held:
        yield pa.concat_tables(held)


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """The table in slices, none over the limits unless a single row is."""
    share = -(-table.nbytes // ROW_GROUP_BYTES) or 1
    step = max(min(ROW_GROUP_ROWS, table.num_rows // share), 1)
    for begin in range(0, table.num_rows, step):
        yield table.slice(begin, step)


@contextmanager
def opened(folder: Folder, name: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file whose pages are verified as they are read.

    Raises:
        CorruptError: also for what is found while the block reads.
    """
    try:
        fd = folder.open(name)
        with os.fdopen(fd, "rb") as file:
            yield pq.ParquetFile(file, page_checksum_verification=True, buffer_size=BUFFER_BYTES)
    except (OSError, pa.ArrowException) as error:
        raise damaged(folder.where(name), str(error)) from error
