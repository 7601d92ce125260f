"""What a stage leaves: tables as Parquet files, and texts; written whole, verified when read."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from varvite.disk.files import Files, Folder
from varvite.engines.engine import Engine
from varvite.errors import CorruptError, NotFoundError
from varvite.query.receipts import Receipt, Written
from varvite.segments.writing import Sink


def write(folder: Folder, engine: Engine, table: str) -> Written:
    """Write a table of the engine's, synced, and say what was written."""
    file = f"{table}.parquet"
    temporary = f"{file}.tmp"
    folder.remove(temporary)
    sink = Sink(folder, temporary)
    try:
        rows = _write(sink, engine.batches(table))
        sink.settle()
    finally:
        sink.release()
    folder.rename(temporary, file)
    return Written(table, file, rows, sink.size, sink.sha.hexdigest())


def _write(sink: Sink, batches: Iterator[pa.RecordBatch]) -> int:
    first = next(batches)
    with pq.ParquetWriter(
        sink, first.schema, compression="zstd", use_dictionary=False, write_page_checksum=True
    ) as made:
        made.write_batch(first)
        rows = int(first.num_rows)
        for batch in batches:
            made.write_batch(batch)
            rows += int(batch.num_rows)
    return rows


def write_text(folder: Folder, file: str, text: str) -> Written:
    """Write a text, synced, and say what was written. Its name is the file's without the ending."""
    data = text.encode()
    folder.replace(file, data, sync=True)
    return Written(file.partition(".")[0], file, 0, len(data), hashlib.sha256(data).hexdigest())


def verify(folder: Folder, written: Written) -> str:
    """The path of a table's file, once its bytes are seen to be those of the receipt.

    Raises:
        CorruptError
    """
    path = folder.where(written.file)
    try:
        found = _sha256(folder, written.file)
    except OSError as error:
        raise _damaged(path, os.strerror(error.errno or 0)) from None
    if found != written.sha256:
        raise _damaged(path, "its bytes are not those that the receipt names")
    return path


def _sha256(folder: Folder, name: str) -> str:
    sha = hashlib.sha256()
    for piece in folder.pieces(name):
        sha.update(piece)
    return sha.hexdigest()


def _damaged(path: str, what: str) -> CorruptError:
    return CorruptError(
        f"{path} is damaged: {what}",
        hint="remove its folder and run the checkpoint again",
        file=path,
        offset=0,
    )


class Answers:
    """What a finished run left in its folder: the receipt, its tables and its texts by name."""

    def __init__(self, path: str, receipt: Receipt) -> None:
        self.folder, self.receipt = path, receipt

    def path(self, name: str) -> str:
        """The file of one of its tables or texts, verified.

        Raises:
            NotFoundError; CorruptError: its bytes are not those that the receipt names.
        """
        files = self.receipt.files
        if name not in files:
            known = ", ".join(files) or "none"
            raise NotFoundError(
                f"{self.receipt.name} has no table {name!r}", hint=f"its tables: {known}"
            )
        with Folder(Files(), self.folder) as folder:
            return verify(folder, files[name])

    def table(self, name: str) -> pa.Table:
        """One of its tables, whole; raises as `path` does."""
        return pq.read_table(self.path(name))

    def text(self, name: str) -> str:
        """One of its texts, whole; raises as `path` does."""
        return Path(self.path(name)).read_text("utf-8")
