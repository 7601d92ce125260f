"""Tables for people, set by rich; loaded for the table format only."""

import sys
from collections.abc import Sequence
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH_ELSEWHERE = 1000
"""Characters, where stdout is no terminal: nothing is folded there."""


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    *,
    indent: int = 0,
) -> str:
    """Rows under a heading; numbers to the right. indent: blanks that go before each line."""
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name, right in zip(columns, numeric, strict=True):
        grid.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return _set(grid, indent)


def fields(names: Sequence[str], values: Sequence[str]) -> str:
    """One thing: a name and its value a line."""
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in zip(names, values, strict=True):
        grid.add_row(Text(name), Text(value))
    return _set(grid)


def _set(grid: Table, indent: int = 0) -> str:
    """The grid as text, styled on a terminal and no wider than it."""
    terminal = sys.stdout.isatty()
    console = Console(
        file=StringIO(),
        width=None if terminal else WIDTH_ELSEWHERE,
        force_terminal=terminal,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as captured:
        console.print(grid, width=console.width - indent)
    return "".join(f"{' ' * indent}{line.rstrip()}\n" for line in captured.get().splitlines())
