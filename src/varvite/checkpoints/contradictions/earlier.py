"""What a run takes over from the one that it goes on from."""

from collections.abc import Mapping

import pyarrow as pa

from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers
from varvite.query import statements

ALL = -1
"""The cursor after which everything is new."""
GROWTH = 4
"""Of a session that is more than so many times what it was, all is read anew."""
_TYPES = {
    "varchar": pa.string(),
    "varchar[]": pa.list_(pa.string()),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
}


def chosen(run: Run) -> Answers | None:
    """The run to go on from, if one may."""
    mode = run.parameters["mode"]
    found = run.earlier() if mode != "full" else None
    if found is None or mode == "incremental":
        return found
    (cursor,) = run.cursors.values()
    return found if cursor <= GROWTH * (found.receipt.cursor or 0) else None


def again(run: Run, after: int) -> Answers | None:
    """The run that an earlier stage went on from; None where another has come between."""
    found = run.earlier()
    return found if found and cursor(found) == after else None


def cursor(earlier: Answers | None) -> int:
    """Through which seq all is as it was."""
    return ALL if earlier is None else earlier.receipt.cursor or 0


def take_over(run: Run, earlier: Answers | None, made_by: Mapping[str, str]) -> None:
    """Make `earlier_<table>` of tables that it left, by their statements; empty without one."""
    for table, statement in made_by.items():
        if earlier is None:
            none(run, f"earlier_{table}", statement)
        else:
            run.engine.load(f"earlier_{table}", earlier.path(table))


def none(run: Run, table: str, like: str) -> None:
    """A table of no rows, as the statement `like` would make it."""
    columns = statements.checkpoints()[like].columns
    fields = [(column.name, _TYPES[column.type]) for column in columns]
    run.put(table, pa.schema(fields).empty_table())
