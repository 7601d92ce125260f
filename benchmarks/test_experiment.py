"""The experiment area at a tiny size, so that it does not rot."""

from benchmarks import experiment
from benchmarks.seeding import Plan


def test_the_experiment_area_gives_its_rows(tmp_path):
    plan = Plan(sizes=(300,), rounds=1, folder=str(tmp_path))

    found = list(experiment.rows(plan))

    assert [row.what.partition(",")[0] for row in found] == [
        "resume",
        "append a run",
        "append a hook",
        "brief",
    ]
    assert all(0 < row.facts["KB read"] < row.facts["KB of log"] for row in found)
