"""How often the verdict is wrong on pure noise, and how often it sees what is there."""

import random

import pytest

from varvite.experiment.confidence import confidence_pi
from varvite.experiment.statistics import (
    Noise,
    bootstrap_interval,
    evidence,
    noise_floor,
)

SIZES = (5, 10, 30)


def noise(count, source, mean=100.0):
    return [source.gauss(mean, 1.0) for _ in range(count)]


def fired(sessions, count, seed, **known):
    """How many of so many sessions of pure noise are called likely real."""
    source = random.Random(seed)
    draws = (noise(count, source) for _ in range(sessions))
    return sum(evidence(draw, "minimize", **known).likely_real for draw in draws)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("known", [{}, {"noise": Noise(1.0)}])
def test_pure_noise_is_rarely_called_likely_real(count, known):
    allowed = 28  # of 300 at 5 %: more would be seen once in a thousand

    assert fired(300, count, count, **known) <= allowed


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [*SIZES, 100])
@pytest.mark.parametrize("known", [{}, {"noise": Noise(1.0)}])
def test_pure_noise_is_called_likely_real_in_at_most_one_of_twenty_of_2000(count, known):
    assert fired(2000, count, count, **known) <= 100


def test_a_width_taken_from_few_runs_is_not_taken_for_certain():
    source, count = random.Random(1), 0

    for _ in range(300):
        floor = noise_floor([noise(4, source)])
        count += evidence(noise(10, source), "minimize", noise=floor).likely_real

    assert count <= 28


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_runs_that_are_all_better_by_three_widths_are_seen(direction):
    source, count = random.Random(20), 0
    shift = 3.0 if direction == "maximize" else -3.0

    for _ in range(200):
        floor = noise_floor([noise(20, source), noise(20, source)])
        runs = [*noise(1, source), *noise(19, source, 100.0 + shift)]
        count += evidence(runs, direction, noise=floor).likely_real

    assert count >= 160


def test_pis_number_passes_for_likely_real_in_half_of_all_noise():
    source, count = random.Random(5), 0

    for _ in range(300):
        runs = [(value, "keep") for value in noise(10, source)]
        count += (confidence_pi(runs, "minimize") or 0) >= 2.0

    assert count >= 120


@pytest.mark.parametrize("metrics", [[], [1.0], [1.0, 2.0], [1.0, float("nan"), 2.0]])
def test_two_runs_say_nothing(metrics):
    found = evidence(metrics, "minimize")

    assert (found.p, found.tests, found.likely_real) == (None, {}, False)


@pytest.mark.parametrize("metrics", [[1.0] * 10, [1.0, *[2.0] * 9], [0.0, *[-0.0] * 5]])
def test_no_gain_is_never_likely_real(metrics):
    assert not evidence(metrics, "minimize").likely_real


def test_a_verdict_is_the_same_each_time_and_in_both_directions():
    metrics = [10.0, 9.0, 9.5, 4.0, 9.2, 8.8]

    first = evidence(metrics, "minimize")

    assert evidence(metrics, "minimize") == first
    assert evidence([-value for value in metrics], "maximize") == first


def test_the_noise_floor_pools_groups_and_counts_their_degrees():
    assert noise_floor([[1.0, 3.0], [10.0, 12.0], [5.0]]) == Noise(2**0.5, 2)
    assert noise_floor([[1.0], []]) is None


def test_the_interval_of_replicates_covers_their_difference():
    low, high = bootstrap_interval([10.0, 10.2, 9.9, 10.1], [8.0, 8.1, 7.9, 8.2])

    assert -2.3 < low < -2.0 < high < -1.8
    assert bootstrap_interval([1.0], [2.0, 3.0]) is None
