import json
from collections import Counter
from itertools import islice, pairwise

import pytest

from varvite.samples import experiments

RUNS = 8000


@pytest.fixture(scope="module")
def lines():
    return [json.loads(line) for line in experiments.log(1, RUNS)]


@pytest.fixture(scope="module")
def runs(lines):
    return [line for line in lines if "run" in line]


def share(found, of):
    return sum(found) / len(of)


def test_a_log_has_the_runs_asked_for_and_begins_with_a_config(lines, runs):
    assert len(runs) == RUNS
    assert lines[0]["type"] == "config"
    assert [run["segment"] for run in runs] == sorted(run["segment"] for run in runs)


def test_segments_last_as_long_as_announced_and_change_the_metric(lines, runs):
    configs = [line for line in lines if "run" not in line]

    assert len(runs) / len(configs) == pytest.approx(experiments.SEGMENT_RUNS_MEAN, rel=0.2)
    assert runs[-1]["segment"] == len(configs) - 1
    assert len({config["metricName"] for config in configs}) == 6
    higher = [config["bestDirection"] == "higher" for config in configs]
    assert share(higher, configs) == pytest.approx(experiments.HIGHER_SHARE, abs=0.1)


def test_statuses_come_as_often_as_in_real_logs(runs):
    counts = Counter(run["status"] for run in runs)

    for status, weight in experiments.STATUS_WEIGHTS.items():
        assert counts[status] / RUNS == pytest.approx(weight / 100, abs=0.02)


def test_metrics_tie_pass_through_zero_and_lie_below(runs):
    ended = [run for run in runs if run["status"] != "crash"]
    ties = [
        one["metric"] == two["metric"] != 0 and one["segment"] == two["segment"]
        for one, two in pairwise(ended)
    ]

    assert share(ties, ended) == pytest.approx(experiments.TIE_SHARE, abs=0.015)
    assert share([run["metric"] == 0 for run in ended], ended) == pytest.approx(0.012, abs=0.01)
    assert share([run["metric"] < 0 for run in ended], ended) > 0.02
    assert {run["metric"] for run in runs if run["status"] == "crash"} == {0}


def test_kept_runs_get_better_in_most_segments(lines, runs):
    higher = [line["bestDirection"] == "higher" for line in lines if "run" not in line]
    better = []
    for segment in range(len(higher)):
        kept = [r["metric"] for r in runs if r["segment"] == segment and r["status"] == "keep"]
        if len(kept) >= 10:
            gain = sum(kept[-5:]) - sum(kept[:5])
            better.append((gain > 0) == higher[segment])

    assert share(better, better) > 0.8


def test_some_lines_have_keys_of_their_own_and_some_numbers_come_twice(runs):
    assert share(["runId" in run for run in runs], runs) == pytest.approx(0.04, abs=0.01)
    twice = [run["run"] != number for number, run in enumerate(runs, 1)]
    assert share(twice, runs) == pytest.approx(0.01, abs=0.005)


def test_a_longer_log_begins_with_a_shorter_one():
    short = list(experiments.log(2, 100))

    assert list(islice(experiments.log(2, 10**7), len(short))) == short
