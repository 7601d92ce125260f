"""Hold the rows of a stream against the journal lines they came from.

What it covers: of every row its seq, stream, id, rev and prev_seq, their order and
number; of every SAMPLE_EVERY-th row every field. `verify(deep=True)` samples every row.
"""

import zlib
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from varvite.errors import CorruptError
from varvite.records.contracts import stream_columns, stream_json
from varvite.segments.gathering import Gathered
from varvite.segments.scan import BODY, Owner


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
    rows = table.take(pa.array([row for row, _, _ in picked], pa.int64())).to_pylist()
    for found, (_, owner, line) in zip(rows, picked, strict=True):
        wanted = expected(stream, owner, orjson.loads(line))
        if _decoded(stream, found) != wanted:
            raise _differs(stream, f"the row of seq {found['seq']}")


def expected(stream: str, owner: Owner, record: dict[str, Any]) -> dict[str, Any]:
    """The row that a record must give; JSON fields and `body` decoded."""
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
    previous = pc.fill_null(pc.cast(batch.column("prev_seq"), pa.string()), "null")
    joined = pc.binary_join_element_wise(
        '{"seq":',
        pc.cast(batch.column("seq"), pa.string()),
        ',"stream":"',
        batch.column("stream"),
        '","id":"',
        record_id,
        '","rev":',
        pc.cast(batch.column("rev"), pa.string()),
        ',"prev_seq":',
        previous,
        "",
    )
    joined = pc.cast(joined, pa.large_string())
    _, offsets, data = joined.buffers()
    ends = memoryview(offsets).cast("q")[: len(joined) + 1]
    return memoryview(data)[ends[0] : ends[-1]]


def _value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "TIMESTAMPTZ":
        return datetime.fromisoformat(value)
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
