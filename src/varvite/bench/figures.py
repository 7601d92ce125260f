"""What was measured, of one operation on one history, and what a set of them says."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from varvite.bench.counting import Counts

COUNTED = (
    *("keys", "bytes_read", "files_opened", "bytes_written"),
    *("bytes_read_outside", "bytes_read_all", "files_touched", "index_files"),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """An operation's medians. records: of the history. counts: by the names of `Counts`.

    noise: by how much the medians of every other round differ, as a share: what a
    difference must exceed to mean anything. floor_s: of `floor`, in the same rounds.
    facts: what else is worth knowing.
    """

    operation: str
    records: int
    history: bool
    seconds: float
    cpu_s: float
    noise: float | None
    counts: dict[str, int]
    floor: str | None = None
    floor_s: float | None = None
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Of the operation to its floor."""
        return self.seconds / self.floor_s if self.floor_s else None


@dataclass(slots=True)
class Rounds:
    """What the rounds of one operation on one history gave."""

    counts: list[Counts] = field(default_factory=list)
    floor_s: list[float] = field(default_factory=list)

    def figure(
        self, operation: str, records: int, *, floor: str, history: bool = False, **facts: float
    ) -> Figure:
        seconds = [one.seconds for one in self.counts]
        return Figure(
            operation,
            records,
            history,
            statistics.median(seconds),
            statistics.median(one.cpu_s for one in self.counts),
            _noise(seconds),
            {name: _middle(getattr(one, name) for one in self.counts) for name in COUNTED},
            floor if self.floor_s else None,
            statistics.median(self.floor_s) if self.floor_s else None,
            facts,
        )


def _middle(values: Iterable[int]) -> int:
    return statistics.median_high(values)


def _noise(seconds: Sequence[float]) -> float | None:
    """Of the same call against itself: the even rounds against the odd ones."""
    if len(seconds) < 2:  # noqa: PLR2004
        return None
    even, odd = statistics.median(seconds[::2]), statistics.median(seconds[1::2])
    return abs(even / odd - 1)


def as_dict(figure: Figure) -> dict[str, Any]:
    kept = ("operation", "records", "history", "seconds", "cpu_s", "noise", "counts")
    more = ("floor", "floor_s", "ratio", "facts")
    return {name: getattr(figure, name) for name in (*kept, *more)}
