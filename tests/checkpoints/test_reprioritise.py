"""The checkpoint `reprioritise`: the order of all focuses together, with the reasons."""

import json
from collections import defaultdict
from math import log1p

import pytest

import varvite
from varvite.checkpoints import reprioritise
from varvite.errors import SessionStatusError
from varvite.graph import payloads
from varvite.session import inbox
from varvite.session.reader import Reader
from varvite.testing import mixed, worked
from varvite.testing.worked import latest


def plainly(store, cursor=None):
    """The facts of each open focus, found the plain way."""
    buckets = {one["id"]: one for one in latest(store, "buckets", cursor)}
    obligations = [o for o in latest(store, "obligations", cursor) if o["status"] == "open"]
    disputed = {
        one.get("focus_id")
        for one in latest(store, "candidates", cursor)
        if one["relation_type"] == "opposes" and one["status"] in {"candidate", "deferred"}
    }
    steps = [e["seq"] for e in latest(store, "events", cursor) if e["type"] == "batch.submitted"]
    answered = defaultdict(int)
    for one in latest(store, "packets", cursor):
        if one["status"] == "assessed":
            answered[one["focus_id"]] = max(answered[one["focus_id"]], one["seq"])
    facts = []
    for one in latest(store, "focuses", cursor):
        if one["status"] not in {"candidate", "accepted"}:
            continue
        tied = [buckets[bucket] for bucket in one["bucket_ids"]]
        coverage = [bucket["coverage_status"] for bucket in tied]
        own = [o for o in obligations if o.get("focus_id") == one["id"]]
        since = answered.get(one["id"], 0)
        arrived = {
            m["node_id"]
            for m in latest(store, "memberships", cursor)
            if m["state"] == "assigned"
            and m["seq"] > since
            and set(m["bucket_ids"]) & set(one["bucket_ids"])
        }
        facts.append(
            {"focus_id": one["id"], "question": one["question"], "status": one["status"]}
            | {"priority": one["priority"], "buckets": len(tied)}
            | {word: coverage.count(word) for word in ("missing", "thin", "partial", "covered")}
            | {
                "required": any(
                    bucket.get("required", False)
                    and bucket["coverage_status"] not in {"covered", "out_of_scope"}
                    for bucket in tied
                ),
                "controversy": one["features"]["controversy"] or one["id"] in disputed,
                "open_obligations": len(own),
                "overdue": sum(o["overdue"] > 0 for o in own),
                "evidence_since": len(arrived),
                "steps_since": sum(seq > since for seq in steps),
                "answered": since > 0,
            }
        )
    return sorted(facts, key=lambda one: one["focus_id"])


def urgency(one, most):
    """The documented formula, written out."""
    need = 1.0 if one["missing"] else 0.8 if one["thin"] else 0.5 if one["partial"] else 0.0
    need = need or (0.2 if one["covered"] else 0.0)
    return round(
        2 * need
        + 2 * one["controversy"]
        + 1.5 * (one["overdue"] > 0)
        + 0.5 * min(one["open_obligations"], 4) / 4
        + 2.5 * (log1p(one["evidence_since"]) / log1p(most) if most else 0)
        + 0.25 * (one["buckets"] > 1)
        + 1.0 * one["required"]
        + 1.0 * min(one["steps_since"], 20) / 20,
        6,
    )


def found(store, **options):
    (ran,) = store.checkpoint("reprioritise", "s", **options)
    return ran


def order(ran):
    return ran.answers.table("focus_order").to_pylist()


def check(store, ran, cursor=None):
    facts = plainly(store, cursor)
    assert ran.answers.table("focus_facts").to_pylist() == facts
    most = max((one["evidence_since"] for one in facts), default=0)
    want = sorted((-urgency(one, most), one["focus_id"]) for one in facts)
    assert [(-row["urgency"], row["focus_id"]) for row in order(ran)] == want
    return facts


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_facts_and_order_are_those_of_the_plain_way(tmp_path, seed):
    store = worked.fill(varvite.open(tmp_path / "store"), seed)

    facts = check(store, found(store))

    seen = {name for one in facts for name, value in one.items() if value}
    assert seen >= {"required", "controversy", "open_obligations", "evidence_since", "answered"}


def test_they_are_so_as_of_any_cursor_too(tmp_path):
    store = worked.fill(varvite.open(tmp_path / "store"), steps=15)
    with store._folder() as folder, Reader(folder, "s") as reader:
        cursors = [batch.commit.last for batch in reader.batches()]
    store.compact()

    for cursor in cursors[5::12]:
        check(store, found(store, as_of=cursor), cursor)


def test_they_are_so_in_a_real_session(shared, tmp_path):
    log = (shared / "data/gaia/twodheg__retrieval_log.jsonl").read_text().splitlines()
    by_file = {
        one.file: one
        for one in payloads.in_file(str(shared / "data/gaia/twodheg__lkm_payloads.ndjson"))
    }
    store = varvite.open(tmp_path / "store")
    with store.graph("s", create=True, level="fast") as session:
        for label in ("effective mass", "spin susceptibility", "Monte Carlo", "gallium arsenide"):
            session.open_bucket(label, terms=[label], required=label == "effective mass")
        for at, line in enumerate(log):
            event = json.loads(line)
            one = by_file[f"artifacts/lkm-discovery/{event['raw_output']}"]
            session.submit([one._replace(query=event["request"].get("text"))])
            if at == 100:
                session.assess(session.packets(1)[0].id, [])
                bucket = session.field_map()["buckets"][0]["id"]
                session.obligations.open("why", target_kind="bucket", target_id=bucket)

    ran = found(store)

    facts = check(store, ran)
    assert len(facts) == 4
    assert sorted(one["answered"] for one in facts) == [False, False, False, True]
    assert max(one["overdue"] for one in facts) == 1
    assert order(ran)[0]["proposed"] == "high"


def test_the_first_become_high_the_next_medium_and_the_others_low(tmp_path):
    store = worked.fill(varvite.open(tmp_path / "store"))

    rows = order(found(store, parameters={"high": 1, "medium": 2}))

    assert [row["proposed"] for row in rows[:4]] == ["high", "medium", "medium", "low"]
    assert [row["place"] for row in rows] == list(range(1, len(rows) + 1))
    assert [row["urgency"] for row in rows] == sorted((r["urgency"] for r in rows), reverse=True)


def test_the_reasons_are_all_that_adds_and_the_weightiest_comes_first(tmp_path):
    store = worked.fill(varvite.open(tmp_path / "store"))

    for row in order(found(store)):
        added = [float(reason.split()[1].removesuffix(":")) for reason in row["reasons"]]
        assert added == sorted(added, reverse=True)
        assert sum(added) == pytest.approx(row["urgency"], abs=0.05)


def test_nothing_calls_for_work_where_there_is_nothing():
    nothing = dict.fromkeys(
        ("missing", "thin", "partial", "covered", "overdue", "open_obligations", "evidence_since"),
        0,
    ) | {"steps_since": 0, "buckets": 0, "required": False, "controversy": False, "answered": False}
    fact = nothing | {"focus_id": "f", "question": "q", "status": "candidate", "priority": "high"}

    (row,) = reprioritise.ordered([fact], high=1, medium=0)

    assert (row["urgency"], row["proposed"], row["reasons"]) == (0.0, "low", [])


def test_what_is_proposed_becomes_the_priorities_and_then_nothing_is(tmp_path):
    store = worked.fill(varvite.open(tmp_path / "store"))
    given = {"high": 2, "medium": 2}

    ran = found(store, parameters=given, apply=True)
    again = found(store, parameters=given, apply=True)

    want = {row["focus_id"]: row["proposed"] for row in order(ran)}
    assert ran.applied == {"committed": 1}
    assert {
        one["id"]: one["priority"] for one in latest(store, "focuses") if one["id"] in want
    } == want
    assert again.receipt.proposes == {}
    assert [row["focus_id"] for row in order(again)] == [row["focus_id"] for row in order(ran)]
    triggers = "select distinct triggers from focuses where actor = 'checkpoint:reprioritise'"
    assert store.sql(triggers).rows() == [(["reprioritised"],)]


def leave(store, priorities):
    with store._folder() as folder, folder.folder("s") as session:
        inbox.leave(session, inbox.Act("k", "prioritise", "test", {"priorities": priorities}))
        mixed.append(store, "s", [{"stream": "nodes", "id": "c", "node_kind": "package"}])
        return len(inbox.refused(session))


def test_a_focus_that_was_closed_meanwhile_stays_closed(tmp_path):
    store = varvite.open(tmp_path / "store")
    with store.graph("s", create=True) as session:
        one, other = session.open_focus("one?"), session.open_focus("other?")
        session.set_focus(one, status="closed")

    assert leave(store, [[one, "high"], [other, "low"]]) == 0

    assert {f["id"]: (f["status"], f["priority"]) for f in latest(store, "focuses")} == {
        one: ("closed", "medium"),
        other: ("candidate", "low"),
    }


def test_a_priority_that_holds_already_adds_nothing(tmp_path):
    store = varvite.open(tmp_path / "store")
    with store.graph("s", create=True) as session:
        one, other = session.open_focus("one?"), session.open_focus("other?", priority="high")

    assert leave(store, [[one, "low"], [other, "high"]]) == 0

    revised = store.sql("select id from focuses where actor = 'test'").rows()
    assert revised == [(one,)]


@pytest.mark.parametrize("bad", [["gone", "high"], ["f", "urgent"], ["f"], "f", None])
def test_an_act_that_names_what_is_no_focus_and_priority_is_refused_whole(tmp_path, bad):
    store = varvite.open(tmp_path / "store")
    with store.graph("s", create=True) as session:
        session.open_focus("one?", focus_id="f")

    assert leave(store, [["f", "high"], bad]) == 1

    assert [one["priority"] for one in latest(store, "focuses")] == ["medium"]


def test_a_paused_session_keeps_its_priorities_until_it_goes_on(tmp_path):
    store = worked.fill(varvite.open(tmp_path / "store"), steps=8)
    with store.graph("s") as session:
        session.pause()

    with pytest.raises(SessionStatusError):
        found(store, apply=True)
    with store.graph("s") as session:
        session.resume()

    assert "high" in {one["priority"] for one in latest(store, "focuses")}


def test_a_session_without_focuses_has_an_empty_order(tmp_path):
    store = varvite.open(tmp_path / "store")
    store.graph("s", create=True).close()

    ran = found(store, apply=True)

    assert (order(ran), ran.receipt.proposes) == ([], {})
