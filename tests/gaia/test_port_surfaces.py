"""The four live surfaces, against real Gaia."""

import json

from gaia_making import node, relation, source_bytes

from varvite.graph.port import (
    ClosedObligation,
    Demotion,
    FocusSet,
    Hypothesis,
    OpenObligation,
    Promotion,
)


def accepted(port, count=4):
    made = port.add_source_shard("s1-0001", [node(number) for number in range(count)])
    assert [one.failure for one in made] == [None] * count
    return [one.result["package_ref"] for one in made]


def state(package):
    return json.loads((package / ".gaia/inquiry/state.json").read_text())


def tactics(package):
    lines = (package / ".gaia/inquiry/tactics.jsonl").read_text().splitlines()
    return [(one["event"], one["payload"]) for one in map(json.loads, lines)]


def test_a_probe_names_the_version_and_the_schema(port):
    found = port.probe()

    assert found.version == "0.5.0a9"
    assert found.ir_schema.startswith("ir-v1+")
    assert found.failure is None


def test_accepted_nodes_become_claims_of_a_source_package_that_the_target_depends_on(port, package):
    made = port.add_source_shard("s1-0001", [node(0), node(1, kind="question")])

    shard = package / ".gaia/lkm_packages/s1-0001-gaia"
    project = (package / "pyproject.toml").read_text()
    graph = json.loads((shard / ".gaia/ir.json").read_text())
    assert [one.result["package_ref"] for one in made] == [
        "varvite:s1_0001::node_0000",
        "varvite:s1_0001::node_0001",
    ]
    assert [(one["id"], one["type"]) for one in graph["knowledges"]] == [
        ("varvite:s1_0001::node_0000", "claim"),
        ("varvite:s1_0001::node_0001", "question"),
    ]
    assert '"s1-0001-gaia"' in project
    assert 's1-0001-gaia = { path = ".gaia/lkm_packages/s1-0001-gaia", editable = true }' in project
    assert "workspace" not in project


def test_nodes_that_are_there_come_back_as_already_and_change_no_byte(port, package):
    first = port.add_source_shard("s1-0001", [node(0), node(1)])
    before = source_bytes(package)

    again = port.add_source_shard("s1-0001", [node(1), node(0)])

    assert [one.already for one in first + again] == [False, False, True, True]
    assert [one.result["package_ref"] for one in again] == [
        "varvite:s1_0001::node_0001",
        "varvite:s1_0001::node_0000",
    ]
    assert source_bytes(package) == before


def test_a_sealed_shard_is_left_alone_while_the_next_one_grows(port, package):
    port.add_source_shard("s1-0001", [node(number) for number in range(250)])
    sealed = source_bytes(package / ".gaia/lkm_packages/s1-0001-gaia")

    over = port.add_source_shard("s1-0001", [node(250)])
    next_one = port.add_source_shard("s1-0002", [node(250)])

    assert over[0].failure.code == "shard_full"
    assert next_one[0].result["package_ref"] == "varvite:s1_0002::node_0250"
    assert source_bytes(package / ".gaia/lkm_packages/s1-0001-gaia") == sealed


def test_text_that_gaia_would_read_as_a_citation_is_escaped(port):
    odd = "An [@unknown2024] of \"quotes\" \\ and @name, mail a@b.org\n''' μ 😀"

    made = port.add_source_shard("s1-0001", [node(0, content=odd)])

    assert made[0].failure is None


def test_obligations_are_opened_and_closed_by_our_id_with_one_save_each(port, package):
    refs = accepted(port)
    opened = [
        OpenObligation("o1", refs[0], "Show the scale.", "support_weak"),
        OpenObligation("o2", "focus_a", "Find a rival.", "focus_weakness"),
    ]

    first = port.sync_obligations(opened, [])
    again = port.sync_obligations(opened, [])
    closed = port.sync_obligations([], [ClosedObligation("o2", first[1].result["qid"])])
    closed_twice = port.sync_obligations([], [ClosedObligation("o2")])

    rows = state(package)["synthetic_obligations"]
    assert [one.already for one in first + again] == [False, False, True, True]
    assert [(one["qid"], one["target_qid"], one["anchor"]) for one in rows] == [
        (
            first[0].result["qid"],
            "varvite:s1_0001::node_0000",
            {"varvite": {"session": "s1", "obligation_id": "o1"}},
        )
    ]
    assert [(one.failure, one.already) for one in closed + closed_twice] == [
        (None, False),
        (None, True),
    ]
    assert [event for event, _ in tactics(package)] == [
        "obligation_add",
        "obligation_add",
        "obligation_close",
    ]


def test_the_real_command_line_lists_and_closes_what_a_session_opened(port, package, gaia):
    refs = accepted(port)
    qid = port.sync_obligations([OpenObligation("o1", refs[0], "Show it.", "other")], [])[0]

    listed = gaia("inquiry", "obligation", "list", "--json", "--path", str(package))
    closed = gaia("inquiry", "obligation", "close", qid.result["qid"], "--path", str(package))
    after = port.sync_obligations([], [ClosedObligation("o1", qid.result["qid"])])

    assert [one["content"] for one in json.loads(listed.stdout)] == ["Show it."]
    assert closed.returncode == 0
    assert (after[0].failure, after[0].already) == (None, True)


def test_at_most_the_window_of_obligations_is_open_in_gaia(port, package):
    refs = accepted(port)
    port.open_max = 2
    opened = [OpenObligation(f"o{n}", refs[0], "Show it.", "other") for n in range(3)]

    try:
        first = port.sync_obligations(opened, [])
        freed = port.sync_obligations(opened[2:], [ClosedObligation("o0")])
    finally:
        port.open_max = 256

    assert [one.failure and one.failure.code for one in first] == [None, None, "window_full"]
    assert first[2].failure.retryable
    assert [one.failure for one in freed] == [None, None]
    assert len(state(package)["synthetic_obligations"]) == 2


def test_focus_and_hypotheses_are_set_once(port, package):
    focus = FocusSet("f1", "Which scale sets the mass?", "question")
    guess = Hypothesis("h1", "Finite size explains it.")

    done = [port.set_focus(focus), port.set_focus(focus)]
    guessed = port.add_hypotheses([guess]) + port.add_hypotheses([guess])

    assert [one.already for one in done + guessed] == [False, True, False, True]
    assert state(package)["focus"] == "Which scale sets the mass?"
    assert [one["content"] for one in state(package)["synthetic_hypotheses"]] == [guess.content]


def test_a_candidate_is_a_hypothesis_in_gaia_with_our_ids(port, package):
    refs = accepted(port)

    made = port.write_candidates([relation(1, refs[:2]), relation(2, refs[2:], None)])

    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    assert [one.result["scaffold_qid"] for one in made] == [
        "field:field::scaffold::cr_000000000001",
        "field:field::scaffold::cr_000000000002",
    ]
    assert [
        (one["id"], one["claims"], one["pattern"], one["status"], one["metadata"])
        for one in manifest["dependencies"]
    ] == [
        (
            made[number].result["scaffold_qid"],
            refs[2 * number : 2 * number + 2],
            ("contradict", None)[number],
            "hypothesis",
            {"varvite": {"candidate_id": f"candidate_{number + 1}", "session": "s1"}},
        )
        for number in range(2)
    ]


def test_a_candidate_that_is_there_comes_back_as_already(port, package):
    refs = accepted(port)
    port.write_candidates([relation(1, refs[:2])])
    before = source_bytes(package)

    again = port.write_candidates([relation(1, refs[:2])])

    assert (again[0].failure, again[0].already) == (None, True)
    assert source_bytes(package) == before


def test_the_gate_promotes_a_candidate_into_the_compiled_graph_and_takes_it_back(
    port, package, gaia
):
    refs = accepted(port)
    candidate = relation(1, refs[:2])
    port.write_candidates([candidate])
    before = source_bytes(package)

    promoted = port.promote(Promotion("d1", candidate, "contradict", "pr_1", "Read both."))
    again = port.promote(Promotion("d1", candidate, "contradict", "pr_1", "Read both."))
    checked = gaia("build", "check", str(package))
    graph = json.loads((package / ".gaia/ir.json").read_text())
    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    demoted = port.demote(Demotion("d2", "d1", "candidate_1", "pr_1", "Wrong scale."))
    demoted_again = port.demote(Demotion("d2", "d1", "candidate_1", "pr_1", "Wrong scale."))

    assert (promoted.outcome, promoted.failure, promoted.already) == ("applied", None, False)
    assert promoted.ir_hash_before != promoted.ir_hash_after == graph["ir_hash"]
    assert (promoted.check.knowledge, promoted.check.operators) == (3, 1)
    assert promoted.gaia_version == "0.5.0a9"
    assert promoted.cost_s > 0
    assert (again.outcome, again.already) == ("applied", True)
    assert checked.returncode == 0, checked.stdout
    assert [(one["operator"], one["variables"]) for one in graph["operators"]] == [
        ("contradiction", refs[:2])
    ]
    assert [
        (one["scaffold"], one["by"], one["metadata"]) for one in manifest["materializations"]
    ] == [
        (
            "field:field::scaffold::cr_000000000001",
            ["field:field::action::pr_1"],
            {
                "varvite": {
                    "candidate_id": "candidate_1",
                    "session": "s1",
                    "decision_id": "d1",
                }
            },
        )
    ]
    assert (demoted.outcome, demoted.ir_hash_after) == ("applied", promoted.ir_hash_before)
    assert (demoted_again.outcome, demoted_again.already) == ("applied", True)
    assert json.loads((package / ".gaia/ir.json").read_text())["operators"] == []
    changed = {name for name, data in source_bytes(package).items() if before.get(name) != data}
    assert {name for name in changed if not name.startswith(".gaia/")} == set()


def test_each_stable_verb_promotes(port):
    refs = accepted(port, 10)
    verbs = ("contradict", "equal", "exclusive", "derive", "infer")
    candidates = [
        relation(n, refs[2 * n : 2 * n + 2], verb if n < 3 else None)
        for n, verb in enumerate(verbs)
    ]
    port.write_candidates(candidates)

    found = [
        port.promote(
            Promotion(
                f"d{n}", candidates[n], verb, f"pr_{n}", "Read.", 0.8 if verb == "infer" else None
            )
        )
        for n, verb in enumerate(verbs)
    ]

    assert [(one.outcome, one.failure) for one in found] == [("applied", None)] * 5
    assert found[-1].check.operators == 3
    assert found[-1].check.strategies == 2


def test_a_local_package_is_added_once_and_a_shard_elsewhere_resolves(port, package, gaia):
    other = package / ".gaia/research/source_packages/found-gaia"
    gaia("pkg", "scaffold", "--target", str(other), "--name", "found-gaia")
    (other / "src/found/__init__.py").write_text(
        'from gaia.engine.lang import claim\n\na = claim("A.")\nb = claim("B.")\n'
    )

    added = [port.add_package(str(other)), port.add_package(str(other))]
    made = port.write_candidates([relation(1, ["found:found::a", "found:found::b"])])

    assert [(one.failure, one.already) for one in added] == [(None, False), (None, True)]
    assert made[0].failure is None
    assert gaia("build", "check", str(package)).returncode == 0
    assert port.check(full=True).ok
