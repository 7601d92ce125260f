"""A session of a few hundred nodes in a package that the real command line made."""

import json

import pytest
from gaia_making import source_bytes

import varvite
from varvite.gaia.none import Without
from varvite.gaia.worker import Worker
from varvite.graph.payloads import Payload
from varvite.graph.port import Failure

NODES = 320
BUCKETS = 8
CUTS = (
    "add_source_shard",
    "sync_obligations",
    "set_focus",
    "write_candidates",
    "promote",
    "demote",
)


class CutError(Exception):
    """The crash between Gaia's write and our record."""


class CutPort:
    """A real port whose answer to one method is lost after Gaia did its part."""

    def __init__(self, port, method):
        self._port, self._method = port, method

    def __getattr__(self, name):
        found = getattr(self._port, name)
        if name != self._method:
            return found

        def lost(*arguments, **named):
            found(*arguments, **named)
            raise CutError(name)

        return lost


def hits(start, count, bucket):
    made = [
        {
            "id": f"gcn_{number}",
            "variable_type": "claim",
            "content": f"The exponent of system {number} is {number % 7} at scale {number % 11}.",
            "bucket_ids": [bucket],
            "rank": rank,
            "paper": {"id": f"p{number}", "title": f"Paper {number}"},
        }
        for rank, number in enumerate(range(start, start + count), 1)
    ]
    return Payload(json.dumps({"query": "exponents", "hits": made}), f"call-{start}")


def opposing(packet):
    names = [ref["id"] for ref in packet.allowed_refs if ref["kind"] == "variable"]
    return [
        {
            "type": "opposes",
            "claim": f"{left} and {right} cannot both be true.",
            "source_refs": [left],
            "claim_refs": [left, right],
            "promotion_hint": "contradict",
            "pattern": "contradict",
            "rationale": "They differ.",
        }
        for left, right in zip(names[::2], names[1::2], strict=False)
    ]


def work(session, nodes=NODES, buckets=BUCKETS):
    """Search, accept, oblige and assess, with nothing of Gaia; the ids of the candidates."""
    size = nodes // buckets
    made = []
    for number in range(buckets):
        session.open_bucket(f"Part {number}", bucket_id=f"b{number}")
        focus = session.open_focus(f"Which exponent has part {number}?", bucket_ids=[f"b{number}"])
        session.submit([hits(number * size, size, f"b{number}")])
        session.obligations.open(
            f"Show the scale of part {number}.", target_kind="focus", target_id=focus
        )
    session.set_focus(focus, status="accepted")
    for packet in session.packets(buckets):
        made += session.assess(packet, opposing(packet)).candidates
    return made


@pytest.fixture
def store(package):
    return varvite.open(package / ".gaia/research/sessions")


def accepted(store):
    return [row[0] for row in store.sql("select id from nodes where node_kind = 'variable'").rows()]


def drain(session):
    done = []
    while not done or (done[-1].left and done[-1].applied):
        done.append(session.project())
    return done


@pytest.mark.timeout(900)
def test_a_few_hundred_nodes_reach_gaia_and_one_of_their_relations_becomes_stable(
    port, package, store, gaia
):
    port.owner = "big"
    with store.graph("big", create=True, gaia=port) as session:
        candidates = work(session)
        session.accept(accepted(store))

        drained = drain(session)
        last = session.project(check=True)
        checked = gaia("build", "check", str(package))
        decision = session.promote(candidates[0], decided_by="human:ada", why="Read both papers.")
        graph = json.loads((package / ".gaia/ir.json").read_text())
        undone = session.demote(candidates[0], decided_by="human:ada", why="Other scales.")
    port.owner = "s1"

    rows = store.sql(
        "select kind, state, count(*) from projections group by all order by all"
    ).rows()
    nodes = store.sql(
        "select projection, count(*) from nodes where node_kind = 'variable' group by 1"
    )
    refs = store.sql("select count(distinct package_ref) from nodes").rows()
    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    state = json.loads((package / ".gaia/inquiry/state.json").read_text())
    shards = sorted(path.name for path in (package / ".gaia/lkm_packages").iterdir())
    counts = [
        len(
            json.loads((package / f".gaia/lkm_packages/{name}/.gaia/ir.json").read_text())[
                "knowledges"
            ]
        )
        for name in shards
    ]
    assert [one.failed for one in drained] == [0] * len(drained)
    assert last.left == 0
    assert nodes.rows() == [("applied", NODES)]
    assert refs == [(NODES,)]
    assert (shards, counts) == (["big-1-gaia", "big-2-gaia"], [250, 70])
    assert len(state["synthetic_obligations"]) == BUCKETS
    assert state["focus"] == f"Which exponent has part {BUCKETS - 1}?"
    assert len(candidates) >= BUCKETS
    assert {one["metadata"]["varvite"]["candidate_id"] for one in manifest["dependencies"]} == set(
        candidates
    )
    assert checked.returncode == 0, checked.stdout
    assert (decision["outcome"], decision["codes"]) == ("applied", [])
    assert (
        decision["gate"]["ir_hash_after"] == graph["ir_hash"] != decision["gate"]["ir_hash_before"]
    )
    assert decision["gate"]["check"]["ok"]
    assert [one["operator"] for one in graph["operators"]] == ["contradiction"]
    assert (undone["outcome"], undone["gate"]["ir_hash_after"]) == (
        "applied",
        decision["gate"]["ir_hash_before"],
    )
    assert manifest["materializations"] == []
    assert {state for _, state, _ in rows} <= {"applied", "verified"}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("cut", CUTS)
def test_what_gaia_did_and_nobody_recorded_is_found_and_not_done_twice(port, package, store, cut):
    port.owner = "cut"
    gate = cut in {"promote", "demote"}
    with store.graph("cut", create=True, gaia=port) as session:
        candidates = work(session, nodes=12, buckets=2)
        if gate:
            drain(session)
        if cut == "demote":
            session.promote(candidates[0], decided_by="human:ada", why="Read both.")

    with store.graph("cut", gaia=CutPort(port, cut)) as session, pytest.raises(CutError):
        if gate:
            getattr(session, cut)(candidates[0], decided_by="human:ada", why="So be it.")
        else:
            session.project()
    begun = store.sql("select kind from projections where state = 'applying'").rows()
    before = source_bytes(package)
    with store.graph("cut", gaia=port) as session:
        drained = drain(session)
        pending = session.status()
    port.owner = "s1"

    after = source_bytes(package)
    left = store.sql(
        "select count(*) from projections where state not in ('applied', 'verified')"
    ).rows()
    outcomes = store.sql("select action, outcome from promotions order by seq").rows()
    claimed = [
        row[0] for row in store.sql("select id from nodes where package_ref is not null").rows()
    ]
    shards = b"".join(data for name, data in after.items() if "/src/cut_" in name)
    ours = [name for name in before if name.startswith("src/") or "/src/" in name]
    assert begun
    assert sum(one.failed for one in drained) == 0, (drained, pending)
    assert left == [(0,)]
    assert [name for name in ours if not after[name].startswith(before[name])] == []
    assert {text.count(f"\n{node} = claim(".encode()) for node in claimed for text in [shards]} == {
        1
    }
    assert {outcome for _, outcome in outcomes} <= {"applied"}
    state = json.loads((package / ".gaia/inquiry/state.json").read_text())
    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    assert len(state["synthetic_obligations"]) == 2
    assert len(manifest["dependencies"]) == len(candidates)
    assert len(manifest["materializations"]) == (cut == "promote")


def test_of_more_obligations_than_gaia_takes_the_next_come_in_as_others_are_closed(
    port, package, store
):
    port.owner = "many"

    def there():
        state = json.loads((package / ".gaia/inquiry/state.json").read_text())
        return [one["content"] for one in state["synthetic_obligations"]]

    with store.graph("many", create=True, gaia=port) as session:
        focus = session.open_focus("Which exponent?")
        own = [
            session.obligations.open(f"Show {n}.", target_kind="focus", target_id=focus)
            for n in range(260)
        ]
        first = drain(session)
        full = there()
        for one in own[:3]:
            session.obligations.close(one, "It was shown.")
        second = session.project()
        port.owner = "s1"

    assert sum(one.failed for one in first) == second.failed == 0
    assert full == [f"Show {n}." for n in range(256)]
    assert there() == [f"Show {n}." for n in range(3, 259)]
    assert second.left == 0


@pytest.mark.parametrize("broken", ["package_broken", "uv_missing"])
def test_what_stays_broken_ends_as_failed_after_five_attempts_and_says_why(
    gaia_python, package, store, monkeypatch, broken
):
    trap = package / "src/field/trap.py"
    if broken == "uv_missing":
        monkeypatch.setenv("PATH", "/nonexistent")
    port = Worker(gaia_python, owner="s1", timeout_s=60)
    port.open_package(str(package))
    with store.graph("s1", create=True, gaia=port) as session:
        work(session, nodes=12, buckets=2)
        if broken == "package_broken":
            session.project()
            session.assess(*late(session))
            trap.write_text("raise ValueError('half done')\n")
        codes = [set(session.project().codes) - {"target_unknown"} for _ in range(6)]
    port.close()

    rows = store.sql(
        """
        select attempts, retryable, json_extract_string(error, '$.code') from projections
        where state = 'failed' and kind in ('add_package', 'candidate')
        """
    ).rows()
    assert codes == [{broken}] * 5 + [set()]
    assert {row for row in rows if row[2] == broken} == {(5, False, broken)}
    assert {row[2] for row in rows} <= {broken, "target_unknown"}


def late(session):
    """A packet with new evidence and an answer to it."""
    session.submit([hits(100, 4, "b0")])
    packet = session.packets(1)[0]
    return packet, opposing(packet)


def test_without_gaia_a_session_goes_on_and_a_later_project_drains_it(port, package, store):
    closed = Without(Failure("gaia_missing", "gaia-lang is not installed", retryable=True))
    before = source_bytes(package)
    port.owner = "late"
    with store.graph("late", create=True, gaia=closed) as session:
        candidates = work(session, nodes=12, buckets=2)
        waiting = session.project()
        refused = session.promote(candidates[0], decided_by="agent:a", why="Read.")
    untouched = {
        n: d for n, d in source_bytes(package).items() if not n.startswith(".gaia/research/")
    }

    with store.graph("late", gaia=port) as session:
        drained = drain(session)
        decision = session.promote(candidates[0], decided_by="agent:a", why="Read.")
    port.owner = "s1"

    assert waiting.codes == {"gate_unavailable": 1, "gaia_missing": 1}
    assert waiting.left > 0
    assert (refused["outcome"], refused["codes"]) == (
        "refused",
        ["gate_unavailable", "gaia_missing"],
    )
    assert untouched == before
    assert sum(one.failed for one in drained) == 0
    assert decision["outcome"] == "applied"


def test_a_worker_that_dies_in_the_middle_leaves_projections_that_the_next_call_does(
    gaia_python, package, store
):
    port = Worker(gaia_python, owner="s1", timeout_s=60)
    port.open_package(str(package))
    trap = package / "src/field/trap.py"
    with store.graph("s1", create=True, gaia=port) as session:
        candidates = work(session, nodes=12, buckets=2)
        trap.write_text("import os\nos._exit(3)\n")
        died = session.project()
        trap.unlink()
        drained = drain(session)
        rows = store.sql("select id, status from candidates where gaia is not null").rows()
    port.close()

    assert died.codes == {"gaia_died": len(candidates)}
    assert sum(one.failed for one in drained) == 0
    assert len(rows) == len(candidates)
    assert port.starts >= 2
