"""Whether an operation's cost grows with the history: counts decide, times never do.

Pure: figures in, verdicts out. Each key that is looked up may cost a page of the index
and a page of its filter more, which a small index holds in one place, and each table that
a larger index has more is opened; everything else may grow by the digits of larger
numbers, for which one page is enough.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from varvite.bench.figures import Figure

PAGE_BYTES = 4 << 10
PAGES_PER_KEY = 2
TABLE_PAGES = 32
"""What opening one more table of the index reads: its end, and the top of its index and filter."""

INDEX_FILES_MAX = 40
"""An index merges its tables by size: it has a few tens of them, however large it is."""

KEYS_MORE, KEYS_MORE_SHARE = 8, 0.1
"""By which the keys of two searches of one size may differ."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much more of `what` the largest history costs than the smallest, and may.

    decides: an operation that may read history is shown, not judged.
    """

    operation: str
    what: str
    by_records: dict[int, float]
    grown: float
    allowed: float | None
    decides: bool

    @property
    def flat(self) -> bool | None:
        """None where nothing is allowed or forbidden."""
        return None if self.allowed is None else self.grown <= self.allowed

    @property
    def share(self) -> float:
        """What is grown, of what is allowed: flat up to 1; 0 where nothing is judged."""
        return self.grown / max(self.allowed or 0, 1) if self.decides else 0

    @property
    def failed(self) -> bool:
        return self.decides and self.flat is False

    @property
    def slope(self) -> float | None:
        """The exponent of the history's size that the cost goes with: 0 is flat, 1 linear."""
        return slope(list(self.by_records.items()))


def judge(figures: Iterable[Figure]) -> list[Growth]:
    """The growth of each operation's counts and time over its histories, in their order."""
    made = []
    for _, group in groupby(figures, key=lambda one: one.operation):
        made += _of_operation(sorted(group, key=lambda one: one.records))
    return made


def _of_operation(figures: Sequence[Figure]) -> list[Growth]:
    keys = figures[0].counts["keys"]
    index_files = max(0, INDEX_FILES_MAX - figures[0].counts["index_files"])
    allowed: dict[str, float | None] = {
        "bytes_read": PAGE_BYTES,
        "bytes_read_outside": PAGE_BYTES * _pages(figures, keys),
        "files_opened": 0,
        "files_touched": 0,
        "index_files": index_files,
        "keys": max(KEYS_MORE, keys * KEYS_MORE_SHARE),
        "bytes_written": None,
    }
    times = [_times(figures, name) for name in ("seconds", "noise", "ratio")]
    counted = [_counted(figures, name, bound) for name, bound in allowed.items()]
    return [one for one in times if one.by_records] + counted


def _pages(figures: Sequence[Figure], keys: int) -> int:
    tables = [one.counts["index_files"] for one in figures]
    return max(1, PAGES_PER_KEY * keys) + TABLE_PAGES * (max(tables) - tables[0])


def _counted(figures: Sequence[Figure], name: str, allowed: float | None) -> Growth:
    """What may read history does so in threads too."""
    found = "bytes_read_all" if figures[0].history and name == "bytes_read_outside" else name
    values = {one.records: float(one.counts[found]) for one in figures}
    return _made(figures, name, values, allowed)


def _times(figures: Sequence[Figure], name: str) -> Growth:
    values = {one.records: getattr(one, name) for one in figures}
    known = {records: value for records, value in values.items() if value is not None}
    return _made(figures, name, known, None)


def _made(
    figures: Sequence[Figure], what: str, values: dict[int, float], allowed: float | None
) -> Growth:
    first = next(iter(values.values()), 0)
    grown = max((one - first for one in values.values()), default=0)
    decides = allowed is not None and not figures[0].history
    return Growth(figures[0].operation, what, values, grown, allowed, decides)


def slope(points: Sequence[tuple[int, float]]) -> float | None:
    """Of the line through the points, both axes logarithmic; None without two above 0."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 2:  # noqa: PLR2004
        return None
    mean_x, mean_y = (sum(axis) / len(logs) for axis in zip(*logs, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    if not spread:
        return None
    return float(sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread)


def as_dict(growth: Growth) -> dict[str, Any]:
    kept = ("operation", "what", "grown", "allowed", "decides", "flat", "slope")
    by_records = {str(records): value for records, value in growth.by_records.items()}
    return {name: getattr(growth, name) for name in kept} | {"by_records": by_records}
