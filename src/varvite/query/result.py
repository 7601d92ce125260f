"""An answer: columns and rows, handed on to whatever the caller works with."""

import html
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

HTML_ROWS_MAX = 50
HTML_CELL_CHARS_MAX = 200


class Result:
    """A materialised answer. Any library that takes the Arrow stream interface takes it whole."""

    def __init__(self, table: pa.Table) -> None:
        """A column whose name an earlier one has gets a number, so that none is lost as a key."""
        self._table = table.rename_columns(_distinct(table.column_names))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        return f"<Result {len(self)} rows: {', '.join(self.columns)}>"

    @property
    def columns(self) -> list[str]:
        return list(self._table.column_names)

    def arrow(self) -> pa.Table:
        return self._table

    def pl(self) -> "pl.DataFrame":
        """As a polars DataFrame, without a copy where the types allow it."""
        import polars as pl

        frame = pl.from_arrow(self._table)
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def df(self) -> "pd.DataFrame":
        """As a pandas DataFrame.

        Raises:
            ModuleNotFoundError: there is no pandas, and which extra brings it.
        """
        try:
            frame: pd.DataFrame = self._table.to_pandas()
        except ModuleNotFoundError as error:
            why = "df() needs pandas: install `varvite[pandas]`, or take .pl() or .arrow()"
            raise ModuleNotFoundError(why, name=error.name) from None
        return frame

    def rows(self) -> list[tuple[Any, ...]]:
        columns = [column.to_pylist() for column in self._table.columns]
        return list(zip(*columns, strict=True))

    def dicts(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table.to_pylist()
        return rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """The first rows as an HTML table, every cell escaped."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        shown = self._table.slice(0, HTML_ROWS_MAX).to_pylist()
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in shown)
        more = len(self) - len(shown)
        foot = f"<caption>{more} more rows</caption>" if more else ""
        return f"<table>{foot}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _distinct(names: list[str]) -> list[str]:
    made: dict[str, None] = {}
    for name in names:
        numbered = (f"{name}_{number}" for number in count(1))
        free = (one for one in chain([name], numbered) if one not in made)
        made[next(free)] = None
    return list(made)


def _cells(row: dict[str, Any]) -> str:
    texts = ("" if value is None else str(value) for value in row.values())
    return "".join(f"<td>{html.escape(text[:HTML_CELL_CHARS_MAX])}</td>" for text in texts)
