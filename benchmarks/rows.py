"""The table of ratios: a row an operation and history, each against a base of the same run."""

import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

PACKAGES = ("varvite", "duckdb", "pyarrow", "rocksdict", "orjson", "pydantic")


@dataclass(frozen=True, slots=True)
class Row:
    """`ratio` of `wall_s` to the base's. noise: how far two floors of the run differ.

    at_least: the target is a lower bound. facts: what was counted, not timed.
    """

    what: str
    records: int
    wall_s: float
    against: str
    base_s: float
    target: float | None = None
    at_least: bool = False
    cpu_s: float = 0
    noise: float | None = None
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        return self.base_s / self.wall_s if self.at_least else self.wall_s / self.base_s

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target


_COLUMNS = ("what", "history", "ratio", "target", "met", "ms", "CPU ms", "base ms", "noise", "")


def head() -> str:
    """The head of the table, in Markdown."""
    return f"{_joined(_COLUMNS)}\n{_joined(['---'] * len(_COLUMNS))}"


def line(row: Row) -> str:
    return _joined(_cells(row))


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: Row) -> tuple[str, ...]:
    sign = "≥" if row.at_least else "≤"
    return (
        row.what,
        f"{row.records:,}",
        f"{row.ratio:.2f} x {row.against}",
        "" if row.target is None else f"{sign} {row.target:g}",
        {True: "yes", False: "no", None: ""}[row.met],
        f"{row.wall_s * 1e3:.2f}",
        f"{row.cpu_s * 1e3:.2f}" if row.cpu_s else "",
        f"{row.base_s * 1e3:.2f}",
        "" if row.noise is None else f"{row.noise:.0%}",
        ", ".join(f"{name} {_number(value)}" for name, value in row.facts.items()),
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"


def document(rows: Iterable[Row]) -> str:
    """The rows with the machine and the versions, as JSON."""
    found = [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in rows]
    machine = {
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": sys.version.split()[0],
    }
    versions = {name: version(name) for name in PACKAGES}
    return json.dumps({"machine": machine, "versions": versions, "rows": found}, indent=1)
