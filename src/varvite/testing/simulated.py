"""Simulated sessions of noise and gain, and how often each rule says "likely real" of them.

Metrics are normal about 100 with width 1, less is better, and each run is kept where it
is the best so far. Every rule judges the same draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import NamedTuple

from varvite.experiment.confidence import confidence_pi
from varvite.experiment.statistics import Noise, evidence, noise_floor

GAIN_WIDTHS = 3.0
SAME_CODE_RUNS = 9
"""Of the baseline's code beside it: with it, an A/A series of 10 runs."""
REPLICATES = 5
PI_LIKELY = 2.0
RULES = ("pi", "without", "same_code", "replicates")


class Case(NamedTuple):
    """Sessions of `runs` runs, of which `better` after the baseline are better by 3 widths."""

    what: str
    runs: int
    better: int


CASES = (
    *(Case("noise alone", runs, 0) for runs in (5, 10, 30, 100)),
    *(Case("all better by 3 widths", runs, runs - 1) for runs in (5, 20)),
    Case("half of them better by 3 widths", 20, 10),
    Case("one of them better by 3 widths", 20, 1),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A session: single measurements, those of an A/A series, and each run measured again."""

    metrics: list[float]
    same_code: list[float]
    replicates: list[list[float]]


def fired(case: Case, sessions: int, seed: int = 0) -> dict[str, int]:
    """Of how many sessions each rule says that their best run is likely real."""
    found = dict.fromkeys(RULES, 0)
    for drawn in _drawn(case, sessions, seed):
        for rule, says in _said(drawn).items():
            found[rule] += says
    return found


def _drawn(case: Case, sessions: int, seed: int) -> Iterator[Drawn]:
    source = Random(f"{case} {seed}")  # noqa: S311  (samples, not secrets)
    for _ in range(sessions):
        better = set(source.sample(range(1, case.runs), case.better))
        means = [100.0 - GAIN_WIDTHS * (number in better) for number in range(case.runs)]
        yield Drawn(
            [source.gauss(mean, 1.0) for mean in means],
            [source.gauss(100.0, 1.0) for _ in range(SAME_CODE_RUNS)],
            [[source.gauss(mean, 1.0) for _ in range(REPLICATES)] for mean in means],
        )


def _said(drawn: Drawn) -> dict[str, bool]:
    medians = [median(group) for group in drawn.replicates]
    same_code = [drawn.metrics[0], *drawn.same_code]
    return {
        "pi": (confidence_pi(_kept_where_best(drawn.metrics), "minimize") or 0) >= PI_LIKELY,
        "without": _likely(drawn.metrics, None),
        "same_code": _likely(drawn.metrics, noise_floor([same_code]), same_code),
        "replicates": _likely(medians, noise_floor(drawn.replicates)),
    }


def _likely(metrics: list[float], noise: Noise | None, baseline: Sequence[float] = ()) -> bool:
    return evidence(metrics, "minimize", noise=noise, baseline=baseline).likely_real


def _kept_where_best(metrics: list[float]) -> list[tuple[float, str]]:
    best, runs = float("inf"), []
    for metric in metrics:
        runs.append((metric, "keep" if metric < best else "discard"))
        best = min(best, metric)
    return runs
