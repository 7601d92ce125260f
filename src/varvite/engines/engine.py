"""What a checkpoint asks of whatever runs its SQL."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa

Params = Mapping[str, Any]


class Engine(Protocol):
    """One snapshot of a store, statements of `sql/checkpoints` by name, and tables in between.

    A statement reads the views of `sql/views` and the tables that were made before it, each
    by its bare name. A table's rows keep the order of the statement that made it.
    """

    name: str
    version: str

    def ask(self, statement: str, params: Params | None = None) -> pa.Table:
        """The answer of a statement, whole.

        Raises:
            NotFoundError, QueryError, CorruptError: a segment that it reads is damaged.
        """

    def make(self, table: str, statement: str, params: Params | None = None) -> int:
        """Make a table of a statement's answer, in the place of an earlier one; its rows.

        The statement may read the table that it replaces.
        """

    def put(self, table: str, rows: pa.Table) -> int:
        """Make a table of rows that were worked out elsewhere."""

    def load(self, table: str, path: str) -> None:
        """Make a table of a Parquet file, which stays where it is and is read when asked for."""

    def batches(self, table: str) -> Iterator[pa.RecordBatch]:
        """A table's rows in order, a few thousand at a time; at least one batch, for its types."""

    def tables(self) -> list[str]:
        """The tables there are, by name."""

    def drop(self, table: str) -> None: ...

    def read(self) -> tuple[int, int]:
        """How many rows and bytes of the store were looked at so far."""

    def close(self) -> None: ...
