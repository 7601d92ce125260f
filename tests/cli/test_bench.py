import json
from contextlib import contextmanager

import pytest

from varvite import checkpoints
from varvite.bench import history, operations, seeding
from varvite.bench.operations import CONTINUATION, Operation
from varvite.bench.seeding import SESSION
from varvite.cli.bench import OPERATIONS

LIST = next(one for one in CONTINUATION if one.name == "list")


@contextmanager
def _reads_history(place):
    with place.store._folder() as store, store.folder(SESSION) as session:
        yield lambda: session.read("nodes.jsonl")


@pytest.fixture
def bench(varvite, tmp_path, monkeypatch):
    """`varvite bench` of the smallest sizes, of these operations alone."""
    monkeypatch.setattr(seeding, "BUCKETS", 5)
    monkeypatch.setattr(history, "QUESTIONS", {})
    monkeypatch.setattr(checkpoints, "jobs", dict)

    def call(*options, only=(LIST,), shape=None):
        monkeypatch.setattr(operations, "CONTINUATION", only)
        given = ("--sizes", "1e3,4e3", "--rounds", 1, "--output", tmp_path / "out")
        return varvite("bench", *given, *options, shape=shape)

    return call


def test_a_continuation_that_reads_history_ends_it_with_1(bench, varvite, tmp_path):
    result = bench(only=(LIST, Operation("reads", _reads_history)))

    rows = json.loads(result.stdout)
    assert result.exit_code == 1
    assert {row["operation"] for row in rows if row["verdict"] == "grows"} == {"reads"}
    varvite.store = tmp_path / "out" / "results"
    (run,) = varvite.json("sql", "select status, metric from runs")
    assert run["status"] == "discard"
    assert run["metric"] > 1


def test_flat_costs_end_it_with_0_and_leave_json_plots_and_a_session(bench, varvite, tmp_path):
    result = bench(shape="table")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split()[:5] == [
        "operation",
        "what",
        "1,000",
        "4,000",
        "slope",
    ]
    assert {one.name for one in (tmp_path / "out").iterdir()} == {
        *("results.json", "report.html", "results", "lock")
    }
    varvite.store = tmp_path / "out" / "results"
    (row,) = varvite.json("sql", "select status, description from runs")
    assert row == {"status": "keep", "description": "histories of 1,000, 4,000 records"}


def test_kept_histories_and_an_earlier_run_are_taken_up(bench, tmp_path, monkeypatch):
    first = bench("--keep")
    monkeypatch.setattr(seeding, "grow", None)

    second = bench("--keep", "--compare", tmp_path / "out" / "results.json")

    assert [first.exit_code, second.exit_code] == [0, 0]
    (opened,) = [
        row
        for row in json.loads(second.stdout)
        if (row["operation"], row["what"]) == ("list", "files opened")
    ]
    assert opened["than before"] == 1
    assert "than before" not in json.loads(first.stdout)[0]


def test_one_history_alone_is_measured_and_said_to_say_nothing(bench):
    result = bench("--sizes", "1e3")

    assert result.exit_code == 0
    assert "says nothing about growth" in result.stderr


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_it_is_flat_from_ten_thousand_to_a_hundred_thousand_records(varvite, tmp_path):
    done = varvite.process("bench", "--sizes", "1e4,1e5", "--output", str(tmp_path / "out"))

    assert done.returncode == 0, done.stdout
    assert {row["operation"] for row in json.loads(done.stdout)} >= {*OPERATIONS}


def test_every_operation_of_the_continuation_can_be_asked_for_alone():
    assert tuple(one.name for one in CONTINUATION) == OPERATIONS


@pytest.mark.parametrize("sizes", ["", "many", "1e4,", "999", "1e9", "nan", "inf", "1e4,-1"])
def test_sizes_that_are_none_are_refused(varvite, sizes):
    assert varvite.refused(2, "bench", "--sizes", sizes, shape="json")["code"] == "usage"
