"""pi-autoresearch's confidence number, as pi computes it.

It is no probability: under pure noise it passes 2, which pi calls "likely real",
in half of the sessions of 5 runs and in 85 % of those of 100.
"""

from collections.abc import Sequence
from statistics import median

VALUES_MIN = 3


def confidence_pi(runs: Sequence[tuple[float, str]], direction: str) -> float | None:
    """|best - baseline| / MAD over a segment's runs, each a metric and a status in pi's reading.

    The spread takes the positive metrics of all runs, the best those of keeps; the
    baseline is the first run. None: fewer than 3 positive metrics, no spread, no
    positive keep, or a best that equals the baseline. Costs a sort.
    """
    values = [metric for metric, _ in runs if metric > 0]
    kept = [metric for metric, status in runs if metric > 0 and status == "keep"]
    if len(values) < VALUES_MIN or not kept:
        return None
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    best = max(kept) if direction == "maximize" else min(kept)
    baseline = runs[0][0]
    return None if spread == 0 or best == baseline else abs(best - baseline) / spread
