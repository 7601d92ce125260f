"""Whether a segment's best run is more than luck: tests that count how often one tried.

A greedy search keeps the best of n noisy runs, so by luck alone the best beats the
baseline, and the more so the more runs there are. Every p here is against that null:
all n runs are draws of one distribution.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean, stdev
from typing import NamedTuple

from varvite.experiment import luck

VALUES_MIN = 3
LEVEL = 0.05
DRAWS = 3000
METRIC_MAX = 1e150
"""What is not below it has no square, and is left out."""


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
    metrics: Sequence[float],
    direction: str,
    *,
    noise: Noise | None = None,
    best: float | None = None,
    baseline: Sequence[float] = (),
    level: float = LEVEL,
) -> Evidence:
    """Judge the best of a segment's finite metrics (below METRIC_MAX), the baseline first.

    best: the metric of the run that is judged, where a better one was not kept. baseline:
    all measurements of the baseline's code, of which a known noise makes use. Which tests
    are asked follows from whether the noise is known, never from their outcome. Costs a
    Monte Carlo table the first time for such a case: 3,000 sessions, at most 100 numbers each.
    """
    sign = _sign(direction)
    values = [sign * value for value in metrics if abs(value) < METRIC_MAX]
    if len(values) < VALUES_MIN:
        return Evidence(len(values), {}, None, likely_real=False)
    most = max(values) if best is None else sign * best
    if noise is None:
        found = luck.without_width(values, most)
        return _judged(len(values), found, luck.tables(len(values), None), level)
    first = sign * fmean(baseline) if baseline else values[0]
    measured = max(1, len(baseline))
    return _with_noise(len(values), first, most, fmean(values[1:]), noise, measured, level)


def evidence_of_sums(
    count: int,
    direction: str,
    *,
    first: float,
    best: float,
    later: float,
    noise: Noise,
    measured: int = 1,
) -> Evidence:
    """The same where the noise is known, from what needs no list: O(1) beside its table.

    first: the mean of the baseline's measurements. later: that of the tries after it.
    """
    if count < VALUES_MIN:
        return Evidence(count, {}, None, likely_real=False)
    sign = _sign(direction)
    return _with_noise(count, sign * first, sign * best, sign * later, noise, measured, LEVEL)


def noise_floor(groups: Sequence[Sequence[float]]) -> Noise | None:
    """The noise of runs that changed nothing: an A/A series, or the replicates of one run, each.

    None where no group has two values.
    """
    wide = [group for group in groups if len(group) > 1]
    degrees = sum(len(group) - 1 for group in wide)
    if not degrees:
        return None
    spreads = (math.sqrt(len(group) - 1) * stdev(group) for group in wide)
    return Noise(math.hypot(*spreads) / math.sqrt(degrees), degrees)


def squares(values: Sequence[float]) -> float:
    """The sum of squares about their mean."""
    middle = fmean(values)
    return fsum((value - middle) ** 2 for value in values)


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


def _sign(direction: str) -> int:
    return 1 if direction == "maximize" else -1


def _with_noise(
    count: int,
    first: float,
    best: float,
    later: float,
    noise: Noise,
    measured: int,
    level: float,
) -> Evidence:
    if noise.width <= 0:
        return Evidence(count, {}, None, likely_real=False)
    found = luck.with_width(first, best, later, noise.width)
    return _judged(count, found, luck.tables(count, noise.degrees, measured), level)


def _judged(count: int, found: dict[str, float], tables: luck.Tables, level: float) -> Evidence:
    tests = {name: tables.p(name, value) for name, value in found.items()}
    combined = tables.combined(min(tests.values()))
    return Evidence(count, tests, combined, combined <= level)
