"""Pairs of claims: what is found, what is not, and that going on from an earlier run changes nothing."""

from collections import defaultdict
from itertools import pairwise

import pytest

from varvite.checkpoints.contradictions import grouping
from varvite.disk.files import remove_all
from varvite.engines.local import Local
from varvite.errors import StoppedError
from varvite.samples import tensions as planted
from varvite.testing import killing, mixed, tangled
from varvite.testing.opposed import (
    JOB,
    edge,
    new,
    pairs,
    recomputed,
    rows,
    run,
    shown,
    subject,
    tables,
)


@pytest.fixture
def empty(tmp_path):
    return new(tmp_path / "tensions")


@pytest.fixture(scope="module")
def topics():
    return list(planted.topics(7, 60))


@pytest.fixture(scope="module")
def full(tmp_path_factory, topics):
    """A store of planted topics, half of it compacted, and what the job finds in it."""
    store = new(tmp_path_factory.mktemp("planted"))
    records = list(planted.records(7, len(topics)))
    mixed.append(store, "s", records[: len(records) // 2])
    store.compact()
    mixed.append(store, "s", records[len(records) // 2 :])
    return store, run(store)


def test_all_that_is_planted_is_found_and_nothing_else(full, topics):
    _, ran = full

    assert pairs(ran) == {one for topic in topics for one in topic.pairs}
    assert {topic.name for topic in topics} == {make.__name__[1:] for make in planted.KINDS}


def test_what_was_taken_back_is_there_and_not_live(full, topics):
    _, ran = full

    assert pairs(ran, live=False) - pairs(ran) == {one for topic in topics for one in topic.dead}


@pytest.mark.parametrize("cap", [1, 2, 32])
def test_the_pairs_are_those_of_a_plain_recomputation(empty, cap):
    records = list(planted.records(3, 45))
    mixed.append(empty, "s", records)

    ran = run(empty, cap=cap)

    assert shown(ran) == recomputed(records, cap)
    assert len(rows(ran, "pairs")) == len(shown(ran))


def going_on(store, records, every, **parameters):
    """After every so many records, a run that goes on and one that reads all."""
    for start in range(0, len(records), every):
        mixed.append(store, "s", records[start : start + every])
        yield (
            run(store, mode="incremental", **parameters),
            run(store, mode="full", **parameters),
        )


def test_going_on_from_the_run_before_gives_what_reading_all_gives(empty):
    records = list(planted.records(11, 30))

    found = list(going_on(empty, records, 1 + len(records) // 4, cap=2))

    for went_on, whole in found:
        assert tables(went_on) == tables(whole)
    assert [one.receipt.results["mode"] for one, _ in found] == ["full", *["incremental"] * 3]
    assert shown(found[-1][0]) == recomputed(records, 2)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "every", "cap"), [(5, 3, 32), (6, 11, 1), (7, 60, 3)])
def test_however_the_session_is_cut_going_on_gives_the_same(empty, seed, every, cap):
    records = list(planted.records(seed, 20 if every == 3 else 60))

    for number, (went_on, whole) in enumerate(going_on(empty, records, every, cap=cap), 1):
        assert tables(went_on) == tables(whole)
        assert shown(went_on) == recomputed(records[: number * every], cap)


@pytest.mark.parametrize(
    ("seed", "count"),
    [(1, 24), *(pytest.param(seed, 60, marks=pytest.mark.slow) for seed in range(1, 9))],
)
def test_however_questions_are_tied_together_going_on_gives_the_same(
    empty, seed, count, monkeypatch
):
    monkeypatch.setattr(grouping, "CLAIMS_WIDE", 3)
    records = list(tangled.records(seed, count))

    found = list(going_on(empty, records, 6, cap=2))

    for went_on, whole in found:
        assert tables(went_on) == tables(whole)
    modes = [one.receipt.results["mode"] for one, _ in found]
    assert modes == ["full", *["incremental"] * (len(found) - 1)]


def test_only_what_hangs_together_with_a_change_is_grouped_and_measured_anew(empty, monkeypatch):
    made = defaultdict(list)
    apart = [edge(f"e{n}", "contradicts", f"a{n}", f"b{n}") for n in range(9)]
    mixed.append(empty, "s", apart)
    run(empty)
    monkeypatch.setattr(Local, "make", counted(Local.make, made))
    mixed.append(empty, "s", [edge("tie", "contradicts", "b0", "a1")])

    ran = run(empty)

    counts = {name: made[name][-1] for name in ("stale", "moved", "tension_measured")}
    assert counts == {"stale": 3, "moved": 2, "tension_measured": 3}
    assert len(rows(ran, "tension_pairs")) == 10
    assert tables(ran) == tables(run(empty, mode="full"))


def test_where_the_run_to_go_on_from_is_gone_by_the_next_stage_all_is_grouped(empty, tmp_path):
    mixed.append(empty, "s", list(planted.records(7, 15)))
    first = run(empty)
    mixed.append(empty, "s", [edge("late", "contradicts", "a", "b")])
    (killed,) = (
        one
        for one in killing.everywhere(empty, JOB, "s", str(tmp_path), ("inside",))
        if one.stage == "group"
    )
    remove_all(killed.store.path + first.path.removeprefix(empty.path))

    again = run(killed.store)

    results = again.receipt.results
    assert (again.state, results["mode"], results["grouped_after"]) == (
        "resumed",
        "incremental",
        -1,
    )
    assert tables(again) == tables(run(empty))


def test_left_alone_a_run_goes_on_unless_most_of_the_session_is_new(empty):
    node = {"stream": "nodes", "node_kind": "variable"}
    modes = []
    for count in (10, 5, 100, 5):
        cursor = empty.session("s")["cursor"]
        mixed.append(empty, "s", [node | {"id": f"v{cursor}_{one}"} for one in range(count)])
        modes.append(run(empty).receipt.results["mode"])

    assert modes == ["full", "incremental", "full", "incremental"]


def hot(count):
    """A subject of which many say the one thing, and many the other; a claim that many oppose."""
    made = [subject(f"p{one}", "positive") for one in range(count)]
    made += [subject(f"n{one}", "negative") for one in range(count)]
    made += [edge(f"s{one}", "supports", f"yes{one}", "claim") for one in range(count)]
    return made + [edge(f"o{one}", "opposes", f"no{one}", "claim") for one in range(count)]


def test_a_key_with_more_claims_than_the_cap_is_reported_and_gives_no_more_pairs(empty):
    mixed.append(empty, "s", hot(9))

    ran = run(empty, cap=4)

    counts = {"claims_for": 9, "claims_against": 9, "paired_for": 4, "paired_against": 4}
    assert rows(ran, "hot_keys") == [
        {"reason": "disputed", "key": "claim"} | counts,
        {"reason": "subject", "key": "hot"} | counts,
    ]
    found = [(one["reason"], one["left_id"], one["right_id"]) for one in rows(ran, "pairs")]
    assert [one for one in found if one[0] == "subject"] == [
        ("subject", f"n{n}", f"p{p}") for n in range(4) for p in range(4)
    ]
    assert len([one for one in found if one[0] == "disputed"]) == 16
    assert len([one for one in found if one[0] == "edge"]) == 9


def test_an_exclusive_candidate_of_many_claims_is_capped_and_reported_too(empty):
    claims = [f"c{number}" for number in range(9)]
    candidate = {
        "stream": "candidates",
        "id": "x",
        "relation_type": "opposes",
        "pattern": "exclusive",
        "status": "candidate",
        "validation": "valid",
        "claim": "one of them at most",
        "label": "x",
        "claim_refs": claims,
    }
    mixed.append(empty, "s", [candidate])

    ran = run(empty, cap=3)

    assert pairs(ran) == {("c0", "c1"), ("c0", "c2"), ("c1", "c2")}
    (row,) = rows(ran, "hot_keys")
    assert (row["reason"], row["key"], row["claims_for"], row["paired_for"]) == (
        "candidate",
        "x",
        9,
        3,
    )


def test_no_step_makes_more_rows_than_there_are_records_and_pairs(tmp_path, monkeypatch):
    """On sessions that double, one key of half of all claims among them, and after a delta."""
    made = defaultdict(list)
    for name in ("make", "put"):
        monkeypatch.setattr(Local, name, counted(getattr(Local, name), made))
    of_full_runs = []
    for count in (100, 200, 400):
        store = new(tmp_path / str(count))
        records = [*hot(count), *planted.records(2, count)]
        mixed.append(store, "s", records)
        ran = run(store, cap=8)
        most = 4 * (len(records) + len(rows(ran, "pairs")))
        of_full_runs.append({name: got[-1] for name, got in made.items()})
        assert {name: rows for name, rows in of_full_runs[-1].items() if rows > most} == {}
        mixed.append(store, "s", [subject("late", "positive")])
        again = run(store, cap=8)
        assert again.receipt.results["touched"] == 1
        assert made["places"][-1] == 2 * count + 1
        assert {name: made[name][-1] for name in ("stale", "tension_keys", "moved")} == {
            "stale": 64,
            "tension_keys": 64,
            "moved": 1,
        }

    for name in (
        "relations",
        "subjects",
        "standing",
        "places",
        "pairs",
        "tension_keys",
        "tensions",
    ):
        found = [one[name] for one in of_full_runs]
        assert all(b <= 2.3 * a for a, b in pairwise(found)), (name, found)


def counted(act, made):
    def counting(self, table, *given):
        count = act(self, table, *given)
        made[table].append(count)
        return count

    return counting


MOMENTS = [("inside",), pytest.param(killing.MOMENTS, marks=pytest.mark.slow)]
"""Inside each stage, and at its ends too."""


@pytest.mark.parametrize("moments", MOMENTS)
def test_killed_at_any_stage_it_comes_to_the_same(empty, tmp_path, moments):
    mixed.append(empty, "s", list(planted.records(7, 15)))
    ran = run(empty)
    mixed.append(empty, "s", [edge("late", "contradicts", "a", "b")])
    killed = list(killing.everywhere(empty, JOB, "s", str(tmp_path), moments))

    expected = tables(run(empty))

    assert expected != tables(ran)
    assert len(killed) == 3 * len(moments)
    for one in killed:
        again = run(one.store)
        assert again.receipt.results["mode"] == "incremental"
        assert (again.state, one.stage) in {
            ("ran", "find"),
            ("resumed", "group"),
            ("resumed", "rank"),
        }
        assert tables(again) == expected


@pytest.mark.parametrize("report", [2, 3, 5])
def test_stopped_at_any_report_it_comes_to_the_same(empty, report, monkeypatch):
    mixed.append(empty, "s", list(planted.records(7, 15)))
    whole = tables(run(empty, mode="full"))

    def stop(what, _done, _total):
        seen.append(what)
        if len(seen) == report:
            raise StoppedError("the time is over")

    seen = []
    with pytest.raises(StoppedError):
        empty.checkpoint(JOB, "s", progress=stop)
    ran = run(empty)

    assert tables(ran) == whole
    assert ran.state == ("ran" if report <= 3 else "resumed")


def test_what_changed_between_two_runs_is_found_at_the_keys_it_left(empty):
    """A retraction, a subject left, a side changed, and a candidate that was rejected."""
    topics = list(planted.topics(5, 45))
    mixed.append(empty, "s", [one for topic in topics for one in topic.records])
    first = run(empty)
    mixed.append(empty, "s", [subject("moved", "positive"), subject("stays", "negative")])
    before = run(empty)
    changes = [one for topic in topics for one in topic.changes]
    mixed.append(empty, "s", [*changes, subject("moved", "positive", of="another")])

    after = run(empty)

    assert after.receipt.results["mode"] == "incremental"
    assert pairs(before) == pairs(first) | {("moved", "stays")}
    assert pairs(after) == {one for topic in topics for one in topic.pairs}
    assert tables(after) == tables(run(empty, mode="full"))


def test_an_edge_that_names_another_claim_leaves_the_keys_where_it_stood(empty):
    mixed.append(empty, "s", [edge("e1", "supports", "x", "k"), edge("e2", "opposes", "y", "k")])
    before = run(empty)
    mixed.append(empty, "s", [edge("e1", "supports", "x", "away")])

    after = run(empty)

    assert after.receipt.results["mode"] == "incremental"
    assert (pairs(before), pairs(after)) == ({("k", "y"), ("x", "y")}, {("k", "y")})
    assert tables(after) == tables(run(empty, mode="full"))
