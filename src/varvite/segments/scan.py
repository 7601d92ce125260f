"""From record lines to rows: the one scan that compaction and a query's tail share.

A row is the same before and after compaction, since both come from here: explicit
columns and types, nothing inferred, no line skipped. Lines are trusted to be what
append accepted; DuckDB alone would round 22.7 to 23 and take NaN.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import duckdb

from varvite import ids
from varvite.records.contracts import stream_columns
from varvite.records.limits import RECORD_BYTES_MAX

SESSION_COLUMNS = {"session_id": "VARCHAR", "session_uid": "VARCHAR"}
BODY = "body"
LINE_BYTES_MAX = 2 * RECORD_BYTES_MAX


class Owner(NamedTuple):
    """Whose lines they are. Neither id can need an escape in JSON."""

    id: str
    uid: str

    @property
    def head(self) -> bytes:
        return f'{{"session_id":"{self.id}","session_uid":"{self.uid}","record":'.encode()


def columns(stream: str) -> dict[str, str]:
    """The physical columns of a stream, with their SQL types, in order.

    The session's, the envelope's and the contract's; then `body`: the fields
    beyond the contract as JSON text, NULL where a record has none.
    """
    return SESSION_COLUMNS | stream_columns(stream) | {BODY: "VARCHAR"}


def connect(
    *, threads: int | None = None, memory_limit: str | None = None, spill: str | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection in memory that keeps the order of lines and reads times as UTC.

    What does not fit in `memory_limit` goes to the folder `spill`, or to one of its own
    below the system's temporary one, which closing removes.
    """
    config: dict[str, str | bool | int | float | list[str]] = {
        "preserve_insertion_order": True,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": spill or os.path.join(tempfile.gettempdir(), f"varvite-{ids.uid()}"),
    }
    if threads is not None:
        config["threads"] = threads
    if memory_limit is not None:
        config["memory_limit"] = memory_limit
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("set timezone = 'UTC'; set parquet_metadata_cache = true")
    return connection


def lines(owner: Owner, found: Sequence[bytes]) -> bytes:
    """Record lines, none with its newline, as `select` reads them: each with its session."""
    head = owner.head
    return head + (b"}\n" + head).join(found) + b"}\n" if found else b""


class Spool:
    """Lines on their way to DuckDB, in memory where the system can name such a file."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self._fd = os.memfd_create("varvite", os.MFD_CLOEXEC)
            self.path, self._name = f"/proc/self/fd/{self._fd}", None
        else:
            self._fd, self._name = tempfile.mkstemp(prefix="varvite-", suffix=".ndjson")
            self.path = self._name
        self.bytes = 0

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        self.bytes += len(data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            if self._name:
                os.unlink(self._name)


@contextmanager
def spooled(data: bytes) -> Iterator[str]:
    """The path of a file that holds `data` for the length of the block."""
    spool = Spool()
    try:
        spool.write(data)
        yield spool.path
    finally:
        spool.close()


def has_extra(connection: duckdb.DuckDBPyConnection, stream: str, path: str) -> bool:
    """Whether some record has a field beyond the contract. Half the cost of the scan itself."""
    shapes = connection.sql(  # a text is quicker to compare than a list
        "select any_value(keys) from (select json_keys(json, '$.record') as keys "  # noqa: S608
        f"from {_objects(path)}) group by keys::varchar"
    ).fetchall()
    known = stream_columns(stream).keys()
    return any(not known >= set(shape) for (shape,) in shapes)


def select(stream: str, path: str, *, extra: bool = True) -> str:
    """SELECT text for the rows of a file made by `lines`, with the columns of `columns`.

    extra: look for fields beyond the contract (see `has_extra`); rows then come in
    no order. Without it `body` is NULL, and rows come in the order of the lines.
    """
    names = [f"record.{quoted(column)} as {quoted(column)}" for column in stream_columns(stream)]
    typed = f"session_id, session_uid, {', '.join(names)}"
    if not extra:
        return f"select {typed}, null::varchar as body from {_typed(stream, path)}"  # noqa: S608
    return (
        f"select {typed}, extra.body from {_typed(stream, path)} as line "  # noqa: S608
        f"left join ({_extra(stream, path)}) as extra "
        "on extra.uid = line.session_uid and extra.seq = line.record.seq"
    )


def none(stream: str) -> str:
    """SELECT text for no rows, with the columns and types of `columns`."""
    nulls = [f"null::{kind} as {quoted(name)}" for name, kind in columns(stream).items()]
    return f"select {', '.join(nulls)} where false"


def _typed(stream: str, path: str) -> str:
    fields = ", ".join(f"{quoted(name)} {kind}" for name, kind in stream_columns(stream).items())
    shape = {**SESSION_COLUMNS, "record": f"STRUCT({fields})"}
    spec = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in shape.items())
    return (
        f"read_json({literal(path)}, format='newline_delimited', columns={{{spec}}}, "
        f"maximum_object_size={LINE_BYTES_MAX})"
    )


def _objects(path: str) -> str:
    return f"read_ndjson_objects({literal(path)}, maximum_object_size={LINE_BYTES_MAX})"


def _extra(stream: str, path: str) -> str:
    known = list(stream_columns(stream))
    names = ", ".join(map(literal, known))
    patch = "{" + ",".join(f'"{name}":null' for name in known) + "}"
    return (
        "select json ->> '$.session_uid' as uid, (json ->> '$.record.seq')::bigint as seq, "  # noqa: S608
        f"json_merge_patch(json -> '$.record', {literal(patch)})::varchar as body "
        f"from {_objects(path)} "
        f"where not list_has_all([{names}], json_keys(json, '$.record'))"
    )


def quoted(name: str) -> str:
    """A name as SQL takes it."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """A text as SQL takes it."""
    return "'" + value.replace("'", "''") + "'"
