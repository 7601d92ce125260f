"""The views of a store as one SQL script, for a DuckDB that knows nothing of varvite."""

from datetime import datetime
from typing import Any

import duckdb

from varvite.clock import now
from varvite.query.catalog import TABLES
from varvite.query.snapshot import Snapshot
from varvite.segments.scan import literal, quoted


def script(snapshot: Snapshot, store_path: str) -> str:
    """Statements that make every view over the segments that the snapshot reads.

    For a snapshot without tail. They can be run again, and name files by absolute path.
    """
    snapshot.make_all()
    parts = [_header(snapshot, store_path), "set timezone = 'UTC';"]
    parts += [f"create schema if not exists {name};" for name in ("streams", "catalog")]
    for name in TABLES:
        parts.append(_table(snapshot.con, name))
    parts += _views(snapshot.con)
    return "\n".join(parts) + "\n"


def _header(snapshot: Snapshot, store_path: str) -> str:
    lines = [
        f"Views of the varvite store {store_path!r}, for a bare duckdb.",
        f"Manifest generation {snapshot.generation}, written {now()}.",
        "The tail is not in it: it shows each session up to the cursor given here, as far as",
        "it is compacted. Write it again after `varvite compact` or `varvite gc`.",
    ]
    lines += [f"  {one.identity.id}  cursor {one.cursor}" for one in snapshot.sessions]
    return "\n".join(f"-- {line}" for line in lines)


def _table(con: duckdb.DuckDBPyConnection, name: str) -> str:
    found = con.sql(f"from catalog.{name}")
    columns = ", ".join(
        f"{quoted(column)} {kind}" for column, kind in zip(found.columns, found.types, strict=True)
    )
    rows = ",\n    ".join(f"({', '.join(map(_value, row))})" for row in found.fetchall())
    made = f"create or replace table catalog.{name} ({columns});"
    return f"{made}\ninsert into catalog.{name} values\n    {rows};" if rows else made


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, int):
        return str(value).lower()
    return literal(value.isoformat() if isinstance(value, datetime) else str(value))


def _views(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The views' own statements, in the order in which they were made."""
    found = con.sql(
        "select sql from duckdb_views() where not internal and schema_name in ('main', 'streams')"
        " order by view_oid"
    ).fetchall()
    return [sql.replace("CREATE VIEW", "CREATE OR REPLACE VIEW", 1) for (sql,) in found]
