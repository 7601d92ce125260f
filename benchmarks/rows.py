"""The table of ratios: a row an operation and history, each against a base of the same run."""

import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.measuring import Spent
from varvite.bench.machine import machine


@dataclass(frozen=True, slots=True)
class Row:
    """What was `spent` on histories of `records`, against a `base` of the same rounds.

    at_least: the row says how many times as fast, and its target is a lower bound.
    noise: how far the medians of two floors differ. facts: what was counted, not timed.
    """

    what: str
    records: int
    spent: Spent
    against: str
    base: Spent
    target: float | None = None
    at_least: bool = False
    noise: float | None = None
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return self._ratio(self.spent.wall_s, self.base.wall_s)

    @property
    def ratio_quick(self) -> float:
        """Of the first deciles, which others' work on the machine touches less."""
        return self._ratio(self.spent.quick_s, self.base.quick_s)

    def _ratio(self, spent_s: float, base_s: float) -> float:
        return base_s / spent_s if self.at_least else spent_s / base_s

    @property
    def met(self) -> bool | None:
        if self.target is None:
            return None
        return self.ratio >= self.target if self.at_least else self.ratio <= self.target

    def values(self) -> dict[str, Any]:
        """The row for JSON: figures, not samples."""
        kept = ("what", "records", "against", "target", "at_least", "noise", "facts")
        return {name: getattr(self, name) for name in kept} | {
            "ratio": self.ratio,
            "ratio_quick": self.ratio_quick,
            "met": self.met,
            "wall_s": self.spent.wall_s,
            "cpu_s": self.spent.cpu_s if self.spent.cpu else None,
            "base_s": self.base.wall_s,
        }


_COLUMNS = (
    *("what", "history", "ratio of medians", "of first deciles", "target", "met"),
    *("ms", "CPU ms", "base ms", "noise", ""),
)


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
        f"{row.ratio_quick:.2f} x",
        "" if row.target is None else f"{sign} {row.target:g}",
        {True: "yes", False: "no", None: ""}[row.met],
        f"{row.spent.wall_s * 1e3:.2f}",
        f"{row.spent.cpu_s * 1e3:.2f}" if row.spent.cpu else "",
        f"{row.base.wall_s * 1e3:.2f}",
        "" if row.noise is None else f"{row.noise:.0%}",
        ", ".join(f"{name} {_number(value)}" for name, value in row.facts.items()),
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2g}"


def document(rows: Iterable[Row], **more: Any) -> str:
    """The rows with the machine and the versions, as JSON, and what `more` there is to say."""
    found = [row.values() for row in rows]
    where = machine(tempfile.gettempdir()).as_dict() | {"load": os.getloadavg()}
    return json.dumps({"machine": where, "rows": found, **more}, indent=1)
