"""Tensions: which pairs are one question, what ranks them, and what is proposed of them."""

import json
import math
from collections import defaultdict

import pytest

import varvite
from varvite.adapters.growth import GrowthLog
from varvite.checkpoints.contradictions import grouping, job
from varvite.errors import InputError, SessionStatusError
from varvite.graph import payloads, upkeep
from varvite.samples import tensions as planted
from varvite.session.kind import Now
from varvite.testing import mixed
from varvite.testing.opposed import edge, new, rows, run, tables


@pytest.fixture
def empty(tmp_path):
    return new(tmp_path / "tensions")


@pytest.fixture(scope="module")
def topics():
    return list(planted.topics(7, 40))


@pytest.fixture(scope="module")
def full(tmp_path_factory, topics):
    """A store of planted topics, and what the job finds in it."""
    store = new(tmp_path_factory.mktemp("planted"))
    mixed.append(store, "s", list(planted.records(7, len(topics))))
    return store, run(store)


def test_each_topic_is_one_tension_however_many_pairs_it_has(full, topics):
    _, ran = full

    found = defaultdict(set)
    for one in rows(ran, "tension_pairs"):
        found[one["tension_id"]].add((one["left_id"], one["right_id"]))
    assert sorted(map(sorted, found.values())) == sorted(
        sorted(topic.pairs | topic.dead) for topic in topics if topic.pairs | topic.dead
    )
    assert len(rows(ran, "tensions")) == len(found)


def test_a_score_is_what_its_reasons_say_and_ranks_follow_it(full):
    store, ran = full

    found = rows(ran, "tensions")

    for one in found:
        why = json.loads(one["reasons"])
        assert list(why) == ["strength", "kinds", "live_pairs", "across_papers"]
        assert why["live_pairs"] == one["live_pairs"]
        score = 0
        if one["live"]:
            shares = why["across_papers"] / why["live_pairs"]
            breadth = math.log2(1 + why["live_pairs"]) / 4
            score = why["strength"] + 0.5 * (why["kinds"] - 1) + breadth + shares
        assert one["score"] == pytest.approx(score, abs=1e-6)
    order = [(not one["live"], -one["score"], -one["last_seq"]) for one in found]
    assert order == sorted(order)
    assert [one["rank"] for one in found] == list(range(1, len(found) + 1))
    assert rows(run(store, mode="full"), "tensions") == found


def test_many_edges_of_one_question_say_little_more_than_one_of_another(full, topics):
    _, ran = full

    of = {one: topic.name for topic in topics for one in topic.pairs}
    found = {
        of[one["left_id"], one["right_id"]]: one for one in rows(ran, "tensions") if one["live"]
    }
    many, one = found["one_question"], found["assessed"]
    assert (many["live_pairs"], one["live_pairs"]) == (13, 1)
    assert many["asks"].startswith("What holds in topic")
    assert json.loads(many["reasons"])["strength"] == json.loads(one["reasons"])["strength"]
    assert many["score"] - one["score"] < 2


def test_what_many_claims_hang_together_by_alone_falls_apart_around_the_busiest(empty, monkeypatch):
    monkeypatch.setattr(grouping, "CLAIMS_WIDE", 4)
    chain = [edge(f"e{n}", "contradicts", f"c{n}", f"c{n + 1}") for n in range(5)]
    small = [edge(f"f{n}", "contradicts", f"d{n}", f"d{n + 1}") for n in range(3)]
    mixed.append(empty, "s", [*chain, *small])

    ran = run(empty)

    found = {(one["key"], one["left_id"]) for one in rows(ran, "tension_pairs")}
    assert found == {
        ("claim:c1", "c0"),
        ("claim:c1", "c1"),
        ("claim:c2", "c2"),
        ("claim:c3", "c3"),
        ("claim:c4", "c4"),
    } | {("claim:d0", f"d{n}") for n in range(3)}


def test_a_pair_that_was_taken_back_does_not_make_two_questions_one(empty):
    made = [
        edge("e1", "contradicts", "a", "b"),
        edge("e2", "contradicts", "b", "c", status="retracted"),
        edge("e3", "contradicts", "c", "d"),
    ]
    mixed.append(empty, "s", made)

    found = rows(run(empty), "tensions")

    assert sorted((one["live_pairs"], one["pairs"]) for one in found) == [(1, 1), (1, 2)]


@pytest.fixture(scope="module")
def real(shared, tmp_path_factory):
    """The real session, whole, and the cursor before its round 6."""
    store = varvite.open(tmp_path_factory.mktemp("real"))
    folder = shared / "data/gaia"
    with store.graph("s", create=True, level="fast") as session:
        session.submit(payloads.in_file(str(folder / "twodheg__lkm_payloads.ndjson")))
        log = GrowthLog(folder / "twodheg__graph_growth_log.jsonl", source="growth")
        session.import_growth(log)
    events = store.sql("select seq, payload from events where type like 'growth.%' order by seq")
    rounds = [(seq, json.loads(payload)["event"]["round_id"]) for seq, payload in events.rows()]
    first = next(number for number, (_, name) in enumerate(rounds) if name == "round_0006")
    return store, rounds[first - 1][0]


BENCHMARKS = "older_dmc_enhancement_vs_revised_dmc_benchmarks"
SCALING = "n_quarter_scaling_vs_shell_filling_noise"


def accepted(store, label):
    found = store.sql("select claim_refs from candidates where label = $label", {"label": label})
    return tuple(sorted(found.rows()[0][0]))


def test_before_round_6_both_accepted_contradictions_are_among_the_first_five(real):
    store, before = real

    found = rows(run(store, as_of=before), "tensions")

    first = [(one["left_id"], one["right_id"]) for one in found[:5] if one["live"]]
    assert {accepted(store, BENCHMARKS), accepted(store, SCALING)} <= {*first}


def test_at_the_end_only_the_one_that_was_not_demoted_is_live(real):
    store, before = real
    run(store, as_of=before)

    ran = run(store)

    assert ran.receipt.results["mode"] == "incremental"
    found = rows(ran, "tensions")
    assert [(one["left_id"], one["right_id"]) for one in found if one["live"]] == [
        accepted(store, BENCHMARKS)
    ]
    assert accepted(store, SCALING) in {
        (one["left_id"], one["right_id"]) for one in found if not one["live"]
    }
    assert tables(ran) == tables(run(store, mode="full"))


def opened(store):
    return store.sql(
        "select target_kind, target_id, content, why, status, raw_kind from obligations order by seq"
    ).dicts()


def test_applied_the_first_live_tensions_become_obligations_once(empty):
    mixed.append(empty, "s", list(planted.records(7, 15)))
    live = [one for one in rows(run(empty, top=3), "tensions") if one["live"]]

    ran = run(empty, apply=True, top=3)
    cursor = empty.session("s")["cursor"]
    again = run(empty, apply=True, top=3)

    assert (ran.applied, again.applied) == ({"committed": 1}, {"committed": 1})
    assert [one["content"] for one in opened(empty)] == [
        f"settle {one['tension_id']}" for one in live[:3]
    ]
    assert {one["status"] for one in opened(empty)} == {"open"}
    names = [(one["target_kind"], one["target_id"]) for one in opened(empty)]
    assert all(
        kind in one["key"] or one["first_id"] == name
        for (kind, name), one in zip(names, live, strict=False)
    )
    assert ran.receipt.proposes == {"oblige": 1}
    assert empty.session("s")["cursor"] == cursor


def nodes(*names):
    return [{"stream": "nodes", "id": name, "node_kind": "variable"} for name in names]


def test_an_obligation_that_was_closed_stays_closed_and_a_new_tension_gets_its_own(empty):
    mixed.append(empty, "s", [*nodes("a", "c"), edge("e1", "contradicts", "a", "b")])
    run(empty, apply=True)
    with empty.graph("s") as session:
        (own,) = obligation_ids(empty)
        session.obligations.close(own, "they measure different things")
    mixed.append(empty, "s", [edge("e2", "contradicts", "c", "d")])

    run(empty, apply=True)

    assert [one["status"] for one in opened(empty)] == ["closed", "open"]
    assert [one["target_id"] for one in opened(empty)] == ["a", "c"]


def obligation_ids(store):
    return [row[0] for row in store.sql("select id from obligations order by seq").rows()]


def test_a_paused_session_opens_none(empty):
    mixed.append(empty, "s", [*nodes("a"), edge("e1", "contradicts", "a", "b")])
    with empty.graph("s") as session:
        session.pause("enough for today")

    with pytest.raises(SessionStatusError):
        run(empty, apply=True)

    assert opened(empty) == []
    with empty.graph("s") as session:
        session.resume()
    run(empty, apply=True)
    assert len(opened(empty)) == 1


def test_more_tensions_than_an_act_takes_are_handed_in_as_several(empty, monkeypatch):
    monkeypatch.setattr(job, "ITEMS_MAX", 2)
    mixed.append(empty, "s", nodes(*(f"a{n}" for n in range(5))))
    mixed.append(empty, "s", [edge(f"e{n}", "contradicts", f"a{n}", f"b{n}") for n in range(5)])

    ran = run(empty, apply=True)

    assert ran.applied == {"committed": 3}
    assert len(opened(empty)) == 5


GOOD = {"content": "settle it", "target_kind": "node", "target_id": "a"}


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"obligations": "all"},
        {"obligations": [GOOD] * 501},
        {"obligations": [{"content": "settle it"}]},
        {"obligations": [GOOD | {"content": 1}]},
        {"obligations": [GOOD | {"status": "closed"}]},
    ],
)
def test_what_is_no_obligation_is_refused(payload):
    now = Now("s", {}, 0, lambda _table, _key: None)

    with pytest.raises(InputError):
        upkeep.oblige(payload, now)
