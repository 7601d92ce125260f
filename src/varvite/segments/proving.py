"""Hold the rows of a stream against the journal lines they came from.

What it covers: of every row its seq, stream, id, rev and prev_seq, their order and
number; of every SAMPLE_EVERY-th row every field. `verify(deep=True)` samples every row.
"""

import zlib
from array import array
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from varvite.errors import CorruptError
from varvite.records.contracts import stream_columns, stream_json
from varvite.segments.gathering import Gathered
from varvite.segments.scan import BODY, Owner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prove(table: pa.Table, gathered: Gathered) -> None:
    """Compare a stream's rows with the facts gathered from its lines.

    Raises:
        CorruptError: naming stream and seq.
    """
    if table.num_rows != gathered.rows:
        raise _differs(gathered.stream, f"{table.num_rows} rows for {gathered.rows} lines")
    if heads(table) != gathered.heads:
        raise _differs(gathered.stream, "seq, id or revision of some row")
    samples(table, gathered.stream, gathered.samples)


def samples(table: pa.Table, stream: str, chosen: Iterable[tuple[int, Owner, bytes]]) -> None:
    """Compare every field of the chosen rows: row number, owner, line.

    Raises:
        CorruptError
    """
    picked = list(chosen)
    taken = table.take(_rows([row for row, _, _ in picked]))
    rows = pa.table([_plain(column) for column in taken.columns], taken.column_names).to_pylist()
    for found, (_, owner, line) in zip(rows, picked, strict=True):
        wanted = expected(stream, owner, orjson.loads(line))
        if _decoded(stream, found) != wanted:
            raise _differs(stream, f"the row of seq {found['seq']}")


def expected(stream: str, owner: Owner, record: dict[str, Any]) -> dict[str, Any]:
    """The row that a record must give; JSON fields and `body` decoded, times as microseconds."""
    kinds = stream_columns(stream)
    row = {"session_id": owner.id, "session_uid": owner.uid}
    row |= {name: _value(record.get(name), kind) for name, kind in kinds.items()}
    body = {name: value for name, value in record.items() if name not in kinds}
    return row | {BODY: body or None}


def heads(table: pa.Table) -> int:
    """CRC32 over the start of each row's line, built anew from its columns."""
    crc = 0
    for batch in table.to_batches():
        crc = zlib.crc32(_head_bytes(batch), crc)
    return crc


def _head_bytes(batch: pa.RecordBatch) -> memoryview:
    record_id = pc.replace_substring(batch.column("id"), "\\", "\\\\")
    record_id = pc.replace_substring(record_id, '"', '\\"')
    joined = pc.binary_join_element_wise(
        text('{"seq":'),
        pc.cast(batch.column("seq"), pa.string()),
        text(',"stream":"'),
        batch.column("stream"),
        text('","id":"'),
        record_id,
        text('","rev":'),
        pc.cast(batch.column("rev"), pa.string()),
        text(',"prev_seq":'),
        pc.fill_null(pc.cast(batch.column("prev_seq"), pa.string()), text("null")),
        text(""),
    )
    _, offsets, data = pc.cast(joined, pa.large_string()).buffers()
    ends = memoryview(offsets).cast("q")[: len(joined) + 1]
    return memoryview(data)[ends[0] : ends[-1]]


@cache
def text(value: str) -> pa.Scalar:
    """A string for pyarrow."""
    return texts([value])[0]


def texts(values: Sequence[str]) -> pa.Array:
    """Strings for pyarrow, made from their bytes: `pa.array` would import pandas."""
    encoded = [value.encode() for value in values]
    ends = array("i", accumulate(map(len, encoded), initial=0))
    data = pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), data)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as integers: as Python objects they would import pandas."""
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _rows(numbers: list[int]) -> pa.Array:
    data = pa.py_buffer(array("q", numbers))
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, data])


def _value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "TIMESTAMPTZ":
        return (datetime.fromisoformat(value) - _EPOCH) // timedelta(microseconds=1)
    return float(value) if kind == "DOUBLE" else value


def _decoded(stream: str, row: dict[str, Any]) -> dict[str, Any]:
    texts = _json_columns(stream)
    return {
        name: orjson.loads(value) if name in texts and value is not None else value
        for name, value in row.items()
    }


@cache
def _json_columns(stream: str) -> frozenset[str]:
    return stream_json(stream) | {BODY}


def _differs(stream: str, what: str) -> CorruptError:
    return CorruptError(
        f"{stream}: {what} differs from the journal",
        hint="nothing was published; report this",
        file=None,
        offset=None,
    )
