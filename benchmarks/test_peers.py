"""The peers at a tiny size, and what is kept and left out of them at large ones."""

import json
import time
from pathlib import Path

import pytest

from benchmarks import measuring, peer_histories, peer_limits, peers, rows
from benchmarks.measuring import Case, Spent
from benchmarks.peer_limits import LeftOut
from benchmarks.peer_stores import (
    NO_INSTALL,
    PEERS,
    DuckDbFile,
    FusionSqlite,
    LangGraph,
    PiLog,
    Varvite,
)
from benchmarks.seeding import Plan

OTHERS = [peer.name for peer in NO_INSTALL[1:]]


def quiet(*_):
    """Tell nobody how far it is."""


@pytest.fixture
def plan(tmp_path):
    return Plan(sizes=(30,), rounds=1, folder=str(tmp_path))


@pytest.fixture
def logs(plan):
    """The kept log of 30 runs."""
    return Path(peer_histories.laid(plan, PiLog, 30, quiet), "log.jsonl")


def test_the_peers_that_need_no_installing_have_their_rows(benchmark, plan):
    found = benchmark.pedantic(lambda: list(peers.measured(plan, NO_INSTALL)))

    assert [(row.what, row.against) for row in found] == [
        (f"{what}, times faster", name)
        for what in ("open", "append 1", "append 100", "resume with 100")
        for name in OTHERS
    ]
    assert all(row.facts["MB theirs"] > 0 for row in found if "resume" in row.what)
    assert all(row.facts["MB"] > row.facts["MB compacted"] / 2 for row in found[-3:])


@pytest.mark.parametrize("only", peers.OPERATIONS)
def test_one_operation_alone_is_measured(plan, only):
    found = list(peers.measured(plan, (Varvite, PiLog), only=[only]))

    assert [row.what for row in found] == [f"{peers.OPERATIONS[only]}, times faster"]


@pytest.mark.parametrize("peer", NO_INSTALL)
def test_a_peer_has_all_that_was_appended_when_it_is_opened_again(plan, peer):
    folder = peer_histories.laid(plan, peer, 30, quiet)
    store = peer(folder)
    store.append(peers.runs(7))
    store.close()

    again = peer(folder)
    again.close()
    config = peer is Varvite
    assert again.count == 37 + config


def test_fusion_learns_where_it_stands_without_a_scan(plan):
    store = FusionSqlite(peer_histories.laid(plan, FusionSqlite, 30, quiet))

    steps = store.ask(f"explain query plan {store.LAST}")
    store.close()

    assert [step[-1].split()[0] for step in steps] == ["SEARCH"]


def test_a_history_is_laid_down_once(plan, logs, monkeypatch):
    monkeypatch.delattr(peer_histories, "grow")

    assert peer_histories.laid(plan, PiLog, 30, quiet) == str(logs.parent)


def test_a_peer_that_is_done_stays_when_the_next_one_is_cut_short(plan, logs, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(DuckDbFile, "close", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            peer_histories.laid(plan, DuckDbFile, 30, quiet)

    after = DuckDbFile(peer_histories.laid(plan, DuckDbFile, 30, quiet))

    assert after.count == 30
    assert sorted(path.name for path in logs.parents[1].iterdir()) == [
        "peer-duckdbfile-30",
        "peer-pilog-30",
    ]


def test_laying_down_tells_how_far_it_is(plan):
    told = []

    peer_histories.laid(plan, PiLog, 7_000, lambda *given: told.append(given))

    assert told == [("lay down pi's log, 7,000", done, 7_000) for done in (5_000, 7_000)]


def test_a_line_every_few_seconds_says_how_far_it_is(capsys, monkeypatch):
    clock = iter((100.0, 103.0, 111.0, 111.0, 120.0, 121.5, 121.5))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    told = peers.Told()

    for done in (1, 2, 3, 4):
        told("lay down", done, 4)

    assert capsys.readouterr().err.splitlines() == ["lay down: 50%", "lay down: 100%"]


def test_a_small_history_is_copied_and_a_large_one_used_as_it_lies(plan, logs, monkeypatch):
    kept = logs.read_bytes()
    list(peers.measured(plan, (Varvite, PiLog), only=["resume"]))
    copied = logs.read_bytes()
    monkeypatch.setattr(peer_histories, "IN_PLACE", 30)

    list(peers.measured(plan, (Varvite, PiLog), only=["resume"]))

    assert copied == kept
    calls = measuring.WARM_UP + plan.rounds_few
    assert logs.read_bytes().count(b"\n") == 30 + calls * peers.STEP


def test_bytes_are_those_of_the_history_whatever_was_appended(plan, logs):
    first, second = (
        [row.facts["MB theirs"] for row in peers.measured(plan, (Varvite, PiLog), only=["resume"])]
        for _ in range(2)
    )

    assert first == second == [logs.stat().st_size / 1e6]


def test_what_is_kept_of_a_size_is_forgotten_alone(plan, logs):
    other = peer_histories.laid(plan, PiLog, 20, quiet)

    peer_histories.forget(plan, NO_INSTALL)

    assert [str(path) for path in logs.parents[1].iterdir()] == [other]


def test_who_cannot_do_a_size_is_left_out_with_the_reason():
    found = list(peer_limits.left_out(PEERS, (100_000, 10_000_000), free=16 * 10**9))

    assert [(one.peer, one.records, one.reason) for one in found] == [
        (PiLog, 10**7, "it reads its whole history into 14 GB of memory, 16 GB are available"),
        (LangGraph, 10**7, "each append would write its whole state, 2.8 GB"),
    ]


def test_who_is_left_out_of_one_size_is_measured_at_another(plan):
    both = Plan(sizes=(20, 30), rounds=1, folder=plan.folder)
    out = [LeftOut(PiLog, 30, "too large"), LeftOut(LangGraph, 20, "too large")]

    found = list(peers.measured(both, (Varvite, PiLog, DuckDbFile), only=["open"], out=out))

    assert [(row.records, row.against) for row in found] == [
        (20, "pi's log"),
        (20, "a DuckDB file"),
        (30, "a DuckDB file"),
    ]


def test_who_holds_much_in_memory_is_measured_after_the_others():
    assert [*peer_limits.groups(NO_INSTALL, 100_000)] == [[*NO_INSTALL]]
    assert [*peer_limits.groups(NO_INSTALL, 10_000_000)] == [
        [peer for peer in NO_INSTALL if peer is not PiLog],
        [Varvite, PiLog],
    ]


def test_a_long_call_counts_and_is_the_last_of_its_case():
    calls = []
    cases = [
        Case("short", lambda _: calls.append("short")),
        Case("long", lambda _: [time.sleep(0.02), calls.append("long")]),
    ]

    spent = measuring.interleaved(cases, 3, long_s=0.01)

    assert calls == ["short", "long", "short", "short", "short", "short"]
    assert {name: len(series.wall) for name, series in spent.items()} == {"short": 3, "long": 1}


def test_nothing_is_called_again_when_all_calls_are_long():
    spent = measuring.interleaved([Case("long", lambda _: time.sleep(0.02))], 3, long_s=0.01)

    assert len(spent["long"].wall) == 1


def test_a_row_says_how_often_a_long_call_was_made():
    spent = {"varvite": Spent([1.0] * 3, [1.0] * 3), "pi's log": Spent([60.0], [60.0])}

    (row,) = peers._rows("open", 30, spent, {})

    assert row.facts == {"CPU ms theirs": 60_000, "calls theirs": 1}


def test_the_command_prints_its_rows_and_who_is_left_out(plan, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(peer_limits, "available", lambda: 0)
    file = tmp_path / "rows.json"
    options = ["--records", "30", "--rounds", "1", "--folder", plan.folder, "--json", str(file)]

    found = peers.main([*options, "--only", "open"])

    reason = "pi's log is left out at 30: it reads its whole history into 4.3e-05 GB of memory, "
    reason += "0 GB are available"
    assert [row.against for row in found] == ["Fusion's SQLite", "a DuckDB file"]
    printed = capsys.readouterr().out.splitlines()
    assert printed == [*rows.head().splitlines(), *map(rows.line, found), reason]
    assert json.loads(file.read_text())["left_out"] == [reason]


def test_fresh_histories_are_laid_down_anew(plan, logs):
    whole = logs.read_bytes()
    logs.write_bytes(b"")

    peers.main(["--records", "30", "--folder", plan.folder, "--fresh", "--prepare"])

    assert logs.read_bytes() == whole


def test_preparing_lays_down_what_a_measurement_needs(plan, tmp_path, monkeypatch):
    peers.main(["--records", "30", "--folder", plan.folder, "--prepare"])
    monkeypatch.delattr(peer_histories, "grow")

    assert len(list(peers.measured(plan, NO_INSTALL))) == len(OTHERS) * len(peers.OPERATIONS)
    assert [*(tmp_path / "peer-varvite-30-compacted").rglob("*.parquet")]
    assert not [*(tmp_path / "peer-varvite-30").rglob("*.parquet")]
