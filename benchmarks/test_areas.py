"""Every area at a tiny size, so that none of them rots."""

import importlib
import json

import pytest

import varvite
from benchmarks import peers, querying, rows, seeding
from benchmarks.__main__ import AREAS, main
from benchmarks.peer_stores import NO_INSTALL, Varvite
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


def test_the_peers_that_need_no_installing_have_their_rows(benchmark, plan):
    found = benchmark.pedantic(lambda: list(peers.measured(plan, NO_INSTALL)))

    others = [peer.name for peer in NO_INSTALL[1:]]
    assert [(row.what, row.against) for row in found] == [
        (f"{what}, times faster", name)
        for what in ("append 1", "append 100", "resume with 100")
        for name in others
    ]
    assert all(row.facts["MB theirs"] > 0 for row in found if "resume" in row.what)


@pytest.mark.parametrize("peer", NO_INSTALL)
def test_a_peer_has_all_that_was_appended_when_it_is_opened_again(tmp_path, peer):
    peers.grow({peer: str(tmp_path / "store")}, 30)
    store = peer(str(tmp_path / "store"))
    store.append(peers.runs(7))
    store.close()

    again = peer(str(tmp_path / "store"))
    again.close()
    config = peer is Varvite
    assert again.count == 37 + config
