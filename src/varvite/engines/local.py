"""DuckDB in this process, over one snapshot."""

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pyarrow as pa

from varvite.engines.engine import Params
from varvite.errors import NotFoundError, QueryError
from varvite.query import statements
from varvite.query.snapshot import Snapshot
from varvite.segments.scan import literal, quoted

BATCH_ROWS = 64 << 10
_NEXT = "_next"


class Local:
    """Tables live in the connection's memory, within its limit, and spill beyond it."""

    name = "duckdb"
    version = duckdb.__version__

    def __init__(self, snapshot: Snapshot) -> None:
        snapshot.keep_tail()
        self._snapshot, self._con = snapshot, snapshot.con
        self._tables: dict[str, str] = {}

    def ask(self, statement: str, params: Params | None = None) -> pa.Table:
        text, given = self._bound(statement, params)
        return self._run(lambda: self._con.sql(text, params=given or None).to_arrow_table())

    def make(self, table: str, statement: str, params: Params | None = None) -> int:
        text, given = self._bound(statement, params)
        made = f"create table {_NEXT} as {text}"
        ((rows,),) = self._run(lambda: self._con.execute(made, given or None).fetchall())
        self._drop(table)
        self._con.execute(f"alter table {_NEXT} rename to {quoted(table)}")
        self._tables[table] = "table"
        return int(rows)

    def put(self, table: str, rows: pa.Table) -> int:
        self._drop(table)
        self._con.register("_given", rows)
        try:
            self._con.execute(f"create table {quoted(table)} as from _given")
        finally:
            self._con.unregister("_given")
        self._tables[table] = "table"
        return int(rows.num_rows)

    def load(self, table: str, path: str) -> None:
        self._drop(table)
        self._con.execute(f"create view {quoted(table)} as from read_parquet({literal(path)})")
        self._tables[table] = "view"

    def batches(self, table: str) -> Iterator[pa.RecordBatch]:
        reader = self._con.sql(f"from {quoted(table)}").to_arrow_reader(BATCH_ROWS)
        empty = True
        for batch in reader:
            empty = False
            yield batch
        if empty:
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)

    def tables(self) -> list[str]:
        return sorted(self._tables)

    def drop(self, table: str) -> None:
        self._drop(table)

    def read(self) -> tuple[int, int]:
        touched = self._snapshot.touched.values()
        return sum(one.rows for one in touched), sum(one.bytes for one in touched)

    def close(self) -> None:
        self._snapshot.close()

    def _bound(self, name: str, params: Params | None) -> tuple[str, dict[str, Any]]:
        try:
            statement = statements.checkpoints()[name]
        except KeyError:
            raise NotFoundError(f"no statement of a checkpoint is named {name!r}") from None
        self._run(lambda: self._snapshot.prepare(statement.text))
        return statement.text, statement.bound(dict(params or {}))

    def _run(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except duckdb.Error as error:
            raise QueryError(str(error)) from error

    def _drop(self, table: str) -> None:
        kind = self._tables.pop(table, None)
        if kind:
            self._con.execute(f"drop {kind} {quoted(table)}")
