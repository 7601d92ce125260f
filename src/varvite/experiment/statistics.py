"""Whether a segment's best run is more than luck: tests that count how often one tried.

A greedy search keeps the best of n noisy runs, so by luck alone the best beats the
baseline, and the more so the more runs there are. Every p here is against that null:
all n runs are draws of one distribution. Random numbers are seeded, so figures repeat.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import fmean, median, stdev
from typing import NamedTuple

VALUES_MIN = 3
LEVEL = 0.05
DRAWS = 3000
ERRORS = 3
"""How many standard errors of its table a p is taken to be too low by."""
_NUMBERS_MAX = 1_000_000


class Noise(NamedTuple):
    """A standard deviation, and the degrees of freedom it was taken from; 0: known exactly."""

    width: float
    degrees: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for a segment's best run. `p` counts both tests that it comes from.

    tests: the p of each by name; `gain` and `shift` where the noise is known, else
    `calibrated` and `rank`. likely_real: p is at most 5 %.
    """

    runs: int
    tests: dict[str, float]
    p: float | None
    likely_real: bool


def evidence(
    metrics: Sequence[float], direction: str, *, noise: Noise | None = None, level: float = LEVEL
) -> Evidence:
    """Judge the best of a segment's finite metrics, the baseline first.

    Which tests are asked follows from whether the noise is known, never from their
    outcome. Costs a Monte Carlo table the first time for a number of runs: 3,000
    sessions of them, at most a million numbers.
    """
    sign = 1 if direction == "maximize" else -1
    values = [sign * value for value in metrics if math.isfinite(value)]
    if len(values) < VALUES_MIN or (noise is not None and noise.width <= 0):
        return Evidence(len(values), {}, None, likely_real=False)
    if noise is None:
        found, tables = _without(values), _tables(len(values), None)
    else:
        found = _with(values, noise.width)
        tables = _tables(len(values), noise.degrees)
    tests = {name: tables.p(name, value) for name, value in found.items()}
    combined = tables.combined(min(tests.values()))
    return Evidence(len(values), tests, combined, combined <= level)


def noise_floor(groups: Sequence[Sequence[float]]) -> Noise | None:
    """The noise of runs that changed nothing: an A/A series, or the replicates of one run, each.

    None where no group has two values.
    """
    wide = [group for group in groups if len(group) > 1]
    degrees = sum(len(group) - 1 for group in wide)
    if not degrees:
        return None
    squares = sum((len(group) - 1) * stdev(group) ** 2 for group in wide)
    return Noise(math.sqrt(squares / degrees), degrees)


def bootstrap_interval(
    baseline: Sequence[float],
    best: Sequence[float],
    *,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Where mean(best) - mean(baseline) lies, over replicates; None without two of each."""
    if len(baseline) < 2 or len(best) < 2:  # noqa: PLR2004  (one value has no spread)
        return None
    source = random.Random(seed)  # noqa: S311  (no secret)
    means = [_resampled(source, best) - _resampled(source, baseline) for _ in range(draws)]
    means.sort()
    cut = int(draws * (1 - level) / 2)
    return means[cut], means[-cut - 1]


def _resampled(source: random.Random, values: Sequence[float]) -> float:
    return fmean(source.choices(values, k=len(values)))


def _without(values: Sequence[float]) -> dict[str, float]:
    """The gain in units of the runs' own spread, and how few are no better than the baseline."""
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    below = sum(value <= values[0] for value in values)
    gain = max(values) - values[0]
    return {"calibrated": gain / spread if spread else 0.0, "rank": -below / len(values)}


def _with(values: Sequence[float], width: float) -> dict[str, float]:
    """By how many widths the best, and the mean of all later runs, beat the baseline."""
    first = values[0]
    return {"gain": (max(values) - first) / width, "shift": (fmean(values[1:]) - first) / width}


class _Tables:
    """What noise makes of each statistic, and of the smallest p of them."""

    def __init__(self, draws: Sequence[dict[str, float]]) -> None:
        self._sorted = {name: sorted(draw[name] for draw in draws) for name in draws[0]}
        self._smallest = sorted(min(self.p(*each) for each in draw.items()) for draw in draws)

    def p(self, name: str, value: float) -> float:
        table = self._sorted[name]
        return (len(table) - bisect_left(table, value) + 1) / (len(table) + 1)

    def combined(self, smallest: float) -> float:
        """How often noise gives a smallest p like this: the price of asking several tests.

        Three standard errors above what the table says, so that its own luck cannot help.
        """
        draws = len(self._smallest) + 1
        share = (bisect_right(self._smallest, smallest) + 1) / draws
        return min(1.0, share + ERRORS * math.sqrt(share * (1 - share) / draws))


@cache
def _tables(count: int, degrees: int | None) -> _Tables:
    source = random.Random(count)  # noqa: S311  (no secret)
    statistic: Callable[[list[float]], dict[str, float]] = _without
    if degrees is not None:
        statistic = partial(_with_drawn_width, source, degrees)
    draws = min(DRAWS, _NUMBERS_MAX // count)
    return _Tables([statistic([source.gauss() for _ in range(count)]) for _ in range(draws)])


def _with_drawn_width(source: random.Random, degrees: int, values: list[float]) -> dict[str, float]:
    """With the width as an estimate of it comes out, which is wide where degrees are few."""
    if not degrees:
        return _with(values, 1.0)
    return _with(values, math.sqrt(source.gammavariate(degrees / 2, 2) / degrees))
