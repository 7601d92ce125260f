"""The tests that the mission names for graph sessions."""

import json
import re
import subprocess
import sys
from collections import Counter

import pytest

from varvite.store import Store
from varvite.testing import watching
from varvite.testing.faulty import ReadSpy
from varvite.testing.recording import RecordingGaia

TIDYING_BYTES = 8 << 20
"""What the index's own threads may read beside a step, where a history was just laid down."""
WORDS_MAX = 16
"""Lookups by which a step may differ, for other words having been met before."""
SIZES = [
    (500, 5_000),
    pytest.param((10_000, 100_000), marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    pytest.param((10_000, 1_000_000), marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
]


def test_open_session_writes_state_and_schema_version(store, tmp_path):
    with store.graph("s", create=True, title="Exponents", parameters={"evidence": 7}) as session:
        opened = session.status()

    state = json.loads((tmp_path / "store/s/state.json").read_text())
    identity = json.loads((tmp_path / "store/s/session.json").read_text())
    assert (state["schema_version"], identity["format"]) == (1, 1)
    assert (state["session_id"], state["kind"], state["title"]) == ("s", "graph", "Exponents")
    assert (state["cursor"], opened["cursor"], state["summary"]["status"]) == (0, 0, "active")
    assert identity["parameters"]["evidence"] == 7
    for name in ("nodes", "edges", "focuses", "obligations", "frontier", "candidates"):
        assert (tmp_path / f"store/s/{name}.jsonl").read_bytes() == b""


def test_submit_frontier_batch_appends_records_and_cursor(store, making, tmp_path):
    with store.graph("s", create=True) as session:
        call = session.frontier.add({"text": "exponents"}, priority="high")
        (leased,) = session.frontier.lease(1, for_steps=1)
        before = session.cursor
        receipt = session.submit([making.hits("gcn_1", "gcn_2", buckets=[])])
        session.frontier.done(call, hits=receipt.new)  # the answer has said so
        cursor = session.cursor

    lines = {
        name: (tmp_path / f"store/s/{name}.jsonl").read_text().splitlines()
        for name in ("nodes", "sightings", "frontier")
    }
    assert leased["id"] == call
    assert (receipt.new, receipt.failed, receipt.io["syncs"]) == (2, 0, 1)
    assert [len(lines["nodes"]), len(lines["sightings"])] == [2, 2]
    statuses = [json.loads(line)["status"] for line in lines["frontier"]]
    assert statuses == ["pending", "leased", "done"]
    assert before < receipt.cursor == cursor
    assert store.session("s")["cursor"] == cursor
    seqs = [row[0] for row in store.sql("select seq from records order by seq").rows()]
    assert seqs == list(range(1, cursor + 1))


def test_resume_continues_from_saved_cursor(store, making):
    given = [making.hits("gcn_1", "gcn_2")]
    with store.graph("s", create=True) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit(given)
        packet = session.packets()[0]
        session.frontier.add({"text": "more"})
        paused = session.pause("the night")

    with store.graph("s") as session:
        found = session.resume("the morning")
        again = session.submit(given)
        cursor = session.cursor
        answered = session.assess(packet.id, [making.relation("gcn_1", "gcn_2")])

    assert (found["status"], found["cursor"], cursor) == ("active", paused + 1, paused + 1)
    assert [one["id"] for one in found["packets"]] == [packet.id]
    assert found["frontier"]["next"][0]["request"] == {"text": "more"}
    assert (again.repeated, again.new, again.io) == (1, 0, {})
    assert answered.advanced
    assert answered.cursor > cursor


def test_search_projection_records_gaia_add_refs(projecting, store, gaia, package):
    accepted = [row[0] for row in store.sql("select id from nodes order by seq").rows()]
    projecting.accept(accepted)

    drained = projecting.project()

    rows = store.sql("select id, projection, package_ref from nodes order by seq").rows()
    shards = (package / ".gaia/lkm_packages").iterdir()
    sources = "".join(path.read_text() for shard in shards for path in shard.glob("src/*/**/*.py"))
    assert (drained.failed, drained.left) == (0, 0)
    assert [row[:2] for row in rows] == [(one, "applied") for one in accepted]
    for node_id, _, ref in rows:
        assert re.fullmatch(rf"\w+:\w+::{node_id}", ref)
        assert f"{node_id} = claim(" in sources
    dependencies = (package / "pyproject.toml").read_text()
    assert "lkm_packages" in dependencies
    assert gaia("build", "check", str(package)).returncode == 0


def test_obligation_projection_updates_inquiry_state(projecting, store, gaia, package):
    projecting.project()
    (candidate,) = store.sql("select claim_refs from candidates").dicts()
    node_id = candidate["claim_refs"][0]
    target = {"target_kind": "node", "target_id": node_id}
    own = projecting.obligations.open("Show the scale.", kind="needs_more_evidence", **target)
    projecting.project()
    state = package / ".gaia/inquiry/state.json"
    opened = json.loads(state.read_text())["synthetic_obligations"]
    listed = gaia("inquiry", "obligation", "list", "--json", "--path", str(package))

    projecting.obligations.close(own, "it was shown")
    projecting.project()

    ((qid, ref),) = store.sql(
        "select o.gaia_qid, n.package_ref from obligations as o join nodes as n on n.id = o.target_id"
    ).rows()
    assert [(one["qid"], one["target_qid"], one["diagnostic_kind"]) for one in opened] == [
        (qid, ref, "support_weak")
    ]
    assert [one["content"] for one in json.loads(listed.stdout)] == ["Show the scale."]
    assert json.loads(state.read_text())["synthetic_obligations"] == []
    assert store.sql("select status from obligations").rows() == [("closed",)]


def test_assess_projection_writes_candidate_relations(projecting, store, gaia, package):
    drained = projecting.project(check=True)

    compiled = gaia("build", "compile", str(package))
    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    (written,) = manifest["dependencies"]
    (candidate,) = store.sql("from candidates").dicts()
    refs = {row[0]: row[1] for row in store.sql("select id, package_ref from nodes").rows()}
    assert (drained.failed, drained.left, compiled.returncode) == (0, 0, 0)
    assert (written["kind"], written["status"]) == ("candidate_relation", "hypothesis")
    assert (written["label"], written["pattern"]) == (candidate["label"], "contradict")
    assert written["claims"] == [refs[one] for one in candidate["claim_refs"]]
    assert written["metadata"]["varvite"]["candidate_id"] == candidate["id"]
    assert json.loads(candidate["gaia"])["scaffold_qid"] == written["id"]
    assert manifest["materializations"] == []
    assert store.sql("select distinct state from projections").rows() == [("verified",)]


def test_stable_promotion_requires_explicit_gate(projecting, store, gaia, package):
    (own,) = [row[0] for row in store.sql("select id from candidates").rows()]
    early = projecting.promote(own, decided_by="human:ada", why="it looks right")
    projecting.project(check=True)
    projecting.pause()
    projecting.resume()
    sources = "".join(path.read_text() for path in package.glob("src/**/*.py"))

    decision = projecting.promote(own, decided_by="human:ada", why="both were read")

    compiled = gaia("build", "compile", str(package))
    ir = json.loads((package / ".gaia/ir.json").read_text())
    assert early["outcome"] == "refused"
    assert set(early["codes"]) == {"not_projected", "target_unknown"}
    assert "contradict(" not in sources
    assert (decision["outcome"], decision["verb"]) == ("applied", "contradict")
    assert decision["gate"]["check"]["ok"]
    assert decision["gate"]["ir_hash_before"] != decision["gate"]["ir_hash_after"]
    assert compiled.returncode == 0
    assert [one["operator"] for one in ir["operators"]] == ["contradiction"]
    assert store.sql("select status from candidates").rows() == [("promoted",)]
    assert store.sql("select outcome from promotions order by seq").rows() == [
        ("refused",),
        ("applied",),
    ]


def test_field_map_updates_from_delta_records(field, store, making, tmp_path):
    field.open_bucket("Another", bucket_id="other")
    before = {row["id"]: row for row in store.sql("from buckets").dicts()}
    receipt = field.submit([making.hits("gcn_4", "gcn_5")])
    field.pause()

    after = {row["id"]: row for row in store.sql("from buckets").dicts()}
    members = store.sql(
        "select count(*) from memberships where bucket_id = 'b' and state = 'assigned'"
    ).rows()
    face = json.loads((tmp_path / "store/s/field_map.json").read_text())
    assert receipt.touched["buckets"] == ["b"]
    assert after["other"]["seq"] == before["other"]["seq"]
    assert (before["b"]["nodes"], after["b"]["nodes"]) == (3, 5)
    assert members == [(5,)]
    assert face["cursor"] == field.cursor
    assert "gcn" not in json.dumps(receipt.io)


def test_invalid_candidate_produces_repair_context(store, making):
    gaia = RecordingGaia()
    with store.graph("s", create=True, gaia=gaia) as session:
        session.open_bucket("Scaling", bucket_id="b")
        session.submit([making.hits("gcn_1", "gcn_2")])
        packet = session.packets()[0]
        refused = session.assess(packet, [making.relation("gcn_1", "gcn_9")])
        session.project()
        waiting = [one.id for one in session.packets()]
        (row,) = store.sql("from repair_contexts").dicts()
        mended = making.relation("gcn_1", "gcn_2", repairs=row["id"])
        taken = session.assess(packet, [mended])

    assert (refused.candidates, refused.advanced, waiting) == ([], False, [packet.id])
    assert gaia.calls == []
    assert (row["codes"], row["status"], row["next_action"]) == (
        ["ref_ungrounded"],
        "open",
        "resubmit",
    )
    allowed = {ref["id"] for ref in json.loads(row["allowed_refs"])}
    assert {"gcn_1", "gcn_2"} <= allowed
    assert "gcn_9" not in allowed
    assert taken.advanced
    chain = store.sql(
        """
        select r.status, r.attempt, c.id, c.attempt
        from candidates as c join repair_contexts as r on r.id = c.repairs and r.answered_by = c.id
        """
    ).rows()
    assert chain == [("resolved", 1, taken.candidates[0], 2)]


_STEP = """
import json, sys
from varvite.store import Store
sys.path.insert(0, sys.argv[1])
from conftest import Making
import varvite.records.contracts
from varvite.bench.counting import counted
hits = Making.hits(*(f"gcn_last_{n}" for n in range(100)), buckets=["b1", "b2"], score=0.9)
store, made = Store(sys.argv[2]), []
with store.graph("s") as session:
    counts = counted(store.files, lambda: made.append(session.submit([hits])))
    read = [counts.bytes_read_outside, counts.bytes_read_all]
    print(json.dumps([*read, made[0].new, made[0].touched]))
"""


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"{sizes[1]}")
def test_incremental_continuation_does_not_scan_historical_records(
    grown, making, tmp_path, monkeypatch, sizes
):
    monkeypatch.setattr("varvite.session.writer.STATE_EVERY_S", 1e9)
    hits = making.hits(*(f"gcn_last_{n}" for n in range(100)), buckets=["b1", "b2"], score=0.9)
    inside, outside, opens = [], [], []

    for size in sizes:
        path = grown(size, str(tmp_path / f"inside-{size}"))
        spy = ReadSpy(path)
        with Store(path, files=spy).graph("s") as session:
            session._writer._state_due = float("inf")
            spy.clear()
            before = spy.io.keys
            receipt = session.submit([hits])
            keys = spy.io.keys - before
            inside.append((spy.opened.copy(), spy.bytes_by_path.copy(), keys))
            assert (receipt.new, len(receipt.touched["focuses"])) == (100, 2)
            assert len(receipt.touched["packets"]) == 2
        path = grown(size, str(tmp_path / f"outside-{size}"))
        command = [sys.executable, "-c", _STEP, __file__.rpartition("/")[0], path]
        if watching.can_trace():
            traced = watching.trace(command, path)
            files = traced.caller.read + traced.threads.read
            assert not [one for one in files if watching.is_history(one)]
            opens.append(
                {
                    name: count
                    for name, count in (traced.caller.opened + traced.threads.opened).items()
                    if "/index/" not in name and not name.endswith(".tmp")
                }
            )
            path = grown(size, str(tmp_path / f"again-{size}"))
            command[-1] = path
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        outside.append(json.loads(answer.stdout))

    opened, read, keys = zip(*inside, strict=True)
    assert opened[0] == opened[1]
    assert read == (Counter(), Counter())
    assert not [one for one in opened[1] if re.search(r"journal/|_lake/", one)]
    assert abs(keys[1] - keys[0]) <= WORDS_MAX
    (first, _, *made), (mine, whole, *made_again) = outside
    assert made == made_again
    assert opens[:1] == opens[1:]
    assert mine <= first + keys[1] * watching.PAGES_BYTES
    assert whole <= mine + TIDYING_BYTES
