"""Checkpoints against real Gaia: the gate for all candidates, and the check of every package."""

import pytest
from test_whole_session import accepted, work

import varvite

NODES, BUCKETS = 24, 2


@pytest.fixture
def store(package):
    return varvite.open(package / ".gaia/research/sessions")


@pytest.mark.timeout(600)
def test_all_candidates_pass_the_gate_and_every_package_is_checked(port, package, store, gaia):
    port.owner = "all"
    with store.graph("all", create=True, gaia=port) as session:
        made = work(session, NODES, BUCKETS)
        session.accept(accepted(store))

    (listed,) = store.checkpoint("promote-all", "all", apply=True, gaia=port)
    (checked,) = store.checkpoint("gaia-check", "all", gaia=port)
    shard = next((package / ".gaia/lkm_packages").iterdir())
    module = shard / "src" / shard.name.removesuffix("-gaia").replace("-", "_") / "__init__.py"
    module.write_text(module.read_text() + "\nbroken = claim(\n")
    (broken,) = store.checkpoint("gaia-check", "all", gaia=port)
    port.owner = "s1"

    said = gaia("build", "check", str(shard))
    statuses = store.sql("select status, count(*) from candidates group by all").rows()
    rows = {row["package"]: row for row in checked.answers.table("checks").to_pylist()}
    assert listed.applied == {"applied": len(made)}
    assert statuses == [("promoted", len(made))]
    assert all(row["ok"] for row in rows.values())
    assert rows[shard.name]["knowledge"] == NODES
    assert rows["field-gaia"]["operators"] >= len(made)
    assert checked.answers.table("short_packages").num_rows == 0
    assert said.returncode != 0
    assert shard.name in broken.receipt.results["broken"]
