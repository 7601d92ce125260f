"""Every area at a tiny size, so that none of them rots."""

import importlib
import json

import pytest

import varvite
from benchmarks import querying, rows, seeding
from benchmarks.__main__ import AREAS, main
from benchmarks.seeding import Plan

ROWS = {
    "append": [
        "append 1 plain",
        "append 100 plain",
        "append 100 runs",
        "append 100 runs, times faster",
    ],
    "step": [
        *["step of 100 hits, 2 buckets given with each"] * 2,
        *["step of 100 hits, assigned to buckets by their text"] * 2,
    ],
    "opening": ["open", "open after kill -9"],
    "processes": [
        "fresh process appends 100",
        "varvite --help",
        "varvite sessions",
        "varvite graph status",
    ],
    "compaction": [
        "compact node records, times as fast",
        "compact a graph session, times as fast",
    ],
    "contradictions": [
        "contradiction join, all anew",
        "contradiction join, after 1,000 records more",
        "contradiction join, after 1,000 records more: the whole job",
    ],
}


@pytest.fixture(scope="session")
def plan(tmp_path_factory):
    return Plan(sizes=(300,), rounds=1, folder=str(tmp_path_factory.mktemp("benchmarks")))


@pytest.mark.parametrize("area", ROWS)
def test_an_area_gives_its_rows(benchmark, area, plan):
    module = importlib.import_module(f"benchmarks.{area}")

    found = benchmark.pedantic(lambda: list(module.rows(plan)))

    assert [row.what for row in found] == ROWS[area]
    assert all(row.spent.wall_s > 0 and row.base.wall_s > 0 for row in found)
    assert {row.facts["syncs"] for row in found if "syncs" in row.facts} <= {1}
    assert {row.facts["reads"] for row in found if "reads" in row.facts} <= {0}


def test_a_question_has_one_answer_in_all_its_forms(benchmark, plan):
    found = benchmark.pedantic(lambda: list(querying.rows(plan)))

    assert [row.what for row in found if "aggregate" in row.what] == [
        "aggregate through an open connection",
        "aggregate through store.sql",
        "aggregate through store.sql, times faster",
        "aggregate through store.sql, times faster",
    ]


def test_the_table_and_the_document_say_the_same(tmp_path, capsys, plan):
    file = tmp_path / "rows.json"
    options = ["--records", "300", "--rounds", "1", "--folder", plan.folder, "--json", str(file)]

    found = main(["append", *options])

    printed = capsys.readouterr().out.splitlines()
    assert printed == [*rows.head().splitlines(), *map(rows.line, found)]
    assert [row["what"] for row in json.loads(file.read_text())["rows"]] == ROWS["append"]


def test_seeding_anew_leaves_what_another_run_has_copied(tmp_path):
    plan = Plan(sizes=(10,), rounds=1, folder=str(tmp_path))

    with seeding.copied(plan, "experiment", 10) as store:
        seeding.forget(plan)

        assert not (tmp_path / "experiment-10").exists()
        assert varvite.open(store).session(seeding.SESSION)["cursor"] == 10


def test_all_areas_are_named():
    assert {*ROWS, "querying", "experiment"} == set(AREAS)
