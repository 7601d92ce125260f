"""Answers as files of their own: Parquet, the Arrow stream, CSV."""

import csv as csv_text
from collections.abc import Callable, Iterator
from datetime import datetime
from io import StringIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from varvite.query.result import Result


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def csv(result: Result) -> Iterator[bytes]:
    """A line of names, then one a row; nothing for null, moments as ISO 8601 in UTC."""
    for row in [result.columns, *result.rows()]:
        line = StringIO()
        csv_text.writer(line, lineterminator="\n").writerow(map(_cell, row))
        yield line.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value


WRITERS: dict[str, Callable[[pa.Table], bytes]] = {"parquet": parquet, "arrow": arrow}
