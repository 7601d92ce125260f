"""The checkpoints that reach Gaia: the gate for all candidates, and checking each package."""

import json

import pytest

import varvite
from varvite.errors import NotFoundError, SessionLockedError
from varvite.graph import promotion
from varvite.graph.payloads import Payload
from varvite.testing.recording import RecordingGaia


@pytest.fixture
def gaia():
    return RecordingGaia()


def hits(count):
    made = [
        {
            "id": f"v{number}",
            "variable_type": "claim",
            "content": f"The exponent of system {number} is {number % 7}.",
            "bucket_ids": ["b"],
            "rank": number + 1,
        }
        for number in range(count)
    ]
    return Payload(json.dumps({"query": "exponents", "hits": made}), "call")


def drafts(packet):
    names = [ref["id"] for ref in packet.allowed_refs if ref["kind"] == "variable"]
    pairs = zip(names[::2], names[1::2], strict=False)
    types = ["opposes", "supports", "qualifies", "undercuts", "background_for"]
    return [
        {
            "type": kind,
            "claim": f"{left} {kind} {right}.",
            "source_refs": [left],
            "claim_refs": [left, right],
            "rationale": "They differ.",
        }
        for (left, right), kind in zip(pairs, types, strict=False)
    ]


@pytest.fixture
def store(tmp_path):
    made = varvite.open(tmp_path / "store")
    with made.graph("s", create=True) as session:
        session.open_bucket("Part", bucket_id="b")
        session.open_focus("Which exponent?", bucket_ids=["b"])
        session.submit([hits(12)])
        (packet,) = session.packets(1)
        session.assess(packet, drafts(packet))
    return made


def accept(store):
    nodes = [row[0] for row in store.sql("select id from nodes").rows()]
    with store.graph("s") as session:
        session.accept(nodes)


def promotable(store, **options):
    (ran,) = store.checkpoint("promote-all", "s", **options)
    return ran, {row["relation_type"]: row for row in ran.answers.table("promotable").to_pylist()}


def statuses(store):
    return dict(store.sql("select relation_type, status from candidates").rows())


def test_what_may_become_stable_is_listed_with_what_it_waits_for(store):
    ran, rows = promotable(store)

    assert rows.keys() == {"opposes", "supports", "qualifies"}
    assert {tuple(row["waits_for"]) for row in rows.values()} == {
        ("not_projected", "target_unknown")
    }
    assert ran.receipt.results == {"open": 3, "ready": 0}


def test_the_codes_are_those_of_the_gates_own_preflight(store, gaia):
    def agrees():
        _, rows = promotable(store)
        with store.graph("s") as session:
            for row in rows.values():
                found = promotion.candidates.load(session.look, row["candidate_id"])
                codes = promotion.preflight(session.look, row["candidate_id"], found, row["verb"])
                assert {one.code for one in codes} == set(row["waits_for"])
        return {code for row in rows.values() for code in row["waits_for"]}

    first = agrees()
    accept(store)
    with store.graph("s", gaia=gaia) as session:
        session.project()
    second = agrees()

    assert (first, second) == ({"not_projected", "target_unknown"}, set())


def test_applied_everything_is_projected_and_asked_for_and_decided(store, gaia):
    accept(store)

    ran, _ = promotable(store, gaia=gaia, apply=True)

    assert ran.applied == {"applied": 3}
    found = statuses(store)
    assert [found[kind] for kind in ("opposes", "supports", "qualifies")] == ["promoted"] * 3
    assert found["undercuts"] == "candidate"
    decided = store.sql("select distinct decided_by from promotions").rows()
    assert [json.loads(row[0]) for row in decided] == [{"kind": "policy", "name": "promote-all"}]


def test_applied_again_nothing_is_asked_twice(store, gaia):
    accept(store)
    cursor = store.session("s")["cursor"]
    promotable(store, gaia=gaia, apply=True)
    asked = gaia.calls.count("promote")

    ran, _ = promotable(store, gaia=gaia, apply=True, as_of=cursor)

    assert ran.state == "replayed"
    assert ran.applied == {}
    assert gaia.calls.count("promote") == asked == 3


def test_without_gaia_each_candidate_waits_and_says_so(store):
    accept(store)

    ran, _ = promotable(store, apply=True)

    assert ran.applied == {"refused": 3}
    assert set(statuses(store).values()) == {"candidate"}
    codes = store.sql("select distinct unnest(codes) from promotions").rows()
    assert codes == [("gate_unavailable",)]


def test_what_gaia_rolls_back_is_counted_as_that(store, gaia):
    accept(store)
    _, rows = promotable(store)
    one = rows["opposes"]["candidate_id"]
    with store.graph("s", gaia=gaia) as session:
        session.project()
        decision = promotion.ids.derived("decision", one, "1")
    gaia.failures[decision] = promotion.Failure("check_failed", "no")

    ran, _ = promotable(store, gaia=gaia, apply=True)

    assert ran.applied == {"applied": 2, "rolled_back": 1}


def test_a_limit_holds_for_those_that_can_be_asked_for(store, gaia):
    accept(store)

    ran, _ = promotable(store, gaia=gaia, apply=True, parameters={"limit": 2})

    assert ran.applied == {"applied": 2}


def test_an_open_session_refuses_since_promotions_are_its_decisions(store, gaia):
    with store.graph("s"), pytest.raises(SessionLockedError):
        promotable(store, gaia=gaia, apply=True)


def test_every_package_is_checked_and_held_against_what_nodes_refer_to(store, gaia):
    accept(store)
    with store.graph("s", gaia=gaia) as session:
        session.project()
    gaia.shards["s-1"].pop()

    (ran,) = store.checkpoint("gaia-check", "s", gaia=gaia)

    rows = ran.answers.table("checks").to_pylist()
    assert [(row["package"], row["ok"]) for row in rows] == [
        ("field-gaia", True),
        ("s-1-gaia", True),
    ]
    assert ran.answers.table("short_packages").to_pylist() == [
        {"import_name": "s-1", "nodes": 12, "knowledge": 11}
    ]
    assert [one for one in gaia.calls if one.startswith("check")] == [
        "check True field",
        "check True s-1",
    ]


def test_a_package_that_does_not_build_is_named(store, gaia):
    gaia.sound = False

    (ran,) = store.checkpoint("gaia-check", "s", gaia=gaia)

    assert ran.receipt.results["broken"] == ["field-gaia"]


def test_packages_are_checked_each_time_since_they_change_outside(store, gaia):
    states = [store.checkpoint("gaia-check", "s", gaia=gaia)[0].state for _ in range(2)]

    assert states == ["ran", "ran"]


def test_without_gaia_there_is_nothing_to_check(store):
    with pytest.raises(NotFoundError, match="no Gaia to ask"):
        store.checkpoint("gaia-check", "s")
