"""What pure noise makes of each test statistic: tables by Monte Carlo, the price of asking two.

Random numbers are seeded, so figures repeat. Up to EXACT_MAX tries every number is
drawn; beyond it only what the statistics depend on, so that no table costs more.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import NormalDist, fmean, median

DRAWS = 3000
EXACT_MAX = 100
ERRORS = 3
"""How many standard errors of its table a p is taken to be too low by."""
_NORMAL = NormalDist()
_BELOW_ONE = 1 - 2**-53
_MAD, _MAD_ERROR = 0.6744897501960817, 0.7867
"""Of a standard normal: its MAD, and the standard error of that times the root of n."""


class Tables:
    """What noise makes of each statistic, and of the smallest p of them."""

    def __init__(self, draws: Sequence[Mapping[str, float]]) -> None:
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
def tables(count: int, degrees: int | None, measured: int = 1) -> Tables:
    """The tables for so many tries.

    degrees: of the noise's width, None where it is not known. measured: how often the
    baseline was.
    """
    source = random.Random(count)  # noqa: S311  (no secret)
    draw = _exact if count <= EXACT_MAX else _large
    return Tables([draw(source, count, degrees, measured) for _ in range(DRAWS)])


def without_width(values: Sequence[float], best: float) -> dict[str, float]:
    """The gain in units of the tries' own spread, and how few are no better than the baseline."""
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    below = sum(value <= values[0] for value in values)
    gain = best - values[0]
    return {"calibrated": gain / spread if spread else 0.0, "rank": -below / len(values)}


def with_width(first: float, best: float, later: float, width: float) -> dict[str, float]:
    """By how many widths the best, and the mean of all later tries, beat the baseline.

    first: the mean of the baseline's measurements.
    """
    return {"gain": (best - first) / width, "shift": (later - first) / width}


def _exact(
    source: random.Random, count: int, degrees: int | None, measured: int
) -> dict[str, float]:
    values = [source.gauss() for _ in range(count)]
    if degrees is None:
        return without_width(values, max(values))
    first, later = values[0] / math.sqrt(measured), values[1:]
    return with_width(first, max(later), fmean(later), _drawn_width(source, degrees))


def _large(
    source: random.Random, count: int, degrees: int | None, measured: int
) -> dict[str, float]:
    """The same from the first try, the best of the others, and their mean or spread given it."""
    first, others = source.gauss(), count - 1
    most = _NORMAL.inv_cdf(min(_BELOW_ONE, source.random() ** (1 / others)))
    if degrees is None:
        best = max(first, most)
        spread = _MAD + source.gauss() * _MAD_ERROR / math.sqrt(count)
        share = _NORMAL.cdf(first)
        error = source.gauss() * math.sqrt(others * share * (1 - share))
        below = min(count, max(1, 1 + round(others * share + error)))
        return {"calibrated": (best - first) / spread, "rank": -below / count}
    hazard = _NORMAL.pdf(most) / _NORMAL.cdf(most)
    error = source.gauss() * math.sqrt((1 - most * hazard - hazard**2) * (others - 1))
    later = (most - (others - 1) * hazard + error) / others
    return with_width(first / math.sqrt(measured), most, later, _drawn_width(source, degrees))


def _drawn_width(source: random.Random, degrees: int) -> float:
    """A width as an estimate of it comes out, which is wide where degrees are few."""
    return math.sqrt(source.gammavariate(degrees / 2, 2) / degrees) if degrees else 1.0
