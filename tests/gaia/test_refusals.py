"""What Gaia would take by mistake, or break by, is refused before it is touched."""

import json

import pytest
from gaia_making import node, relation, source_bytes

from varvite.errors import InputError
from varvite.graph.port import OpenObligation, Promotion

TOUCHED = ("uv.lock",)


@pytest.fixture
def refs(port):
    made = port.add_source_shard("s1-0001", [node(0), node(1), node(2, kind="question"), node(3)])
    return [one.result["package_ref"] for one in made]


def codes(outcomes):
    return [one.failure and one.failure.code for one in outcomes]


def test_what_is_no_package_is_refused_and_nothing_is_created(shared_worker, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')

    with pytest.raises(InputError) as caught:
        shared_worker.open_package(str(tmp_path))

    assert caught.value.reason == "not_a_package"
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize(
    ("claims", "pattern", "code"),
    [
        ((0, 0), "contradict", "self_relation"),
        ((0,), None, "refs_lt_2"),
        ((0, 1, 3), "contradict", "pattern_needs_2"),
        ((0, 2), "contradict", "ref_not_claim"),
        ((0, "varvite:s1_0001::node_9999"), None, "ref_unknown"),
        ((0, "varvite:nowhere::node_0001"), None, "ref_unknown"),
        ((0, "nobody"), None, "ref_unknown"),
        ((0, "no ref at all"), None, "ref_unknown"),
        ((0, 1), "resembles", "pattern_unknown"),
    ],
)
def test_a_relation_that_cannot_hold_is_refused(port, package, refs, claims, pattern, code):
    before = source_bytes(package)
    given = [refs[one] if isinstance(one, int) else one for one in claims]

    made = port.write_candidates([relation(1, given, pattern)])

    assert codes(made) == [code]
    assert source_bytes(package) == before


@pytest.mark.parametrize("binding", ["1x", "class", "__x", "a b", ""])
def test_a_label_that_is_no_name_is_refused(port, refs, binding):
    bad = relation(1, refs[:2])._replace(binding=binding, label=binding)

    assert codes(port.write_candidates([bad])) == ["label_not_identifier"]


def test_a_label_that_something_else_has_is_a_collision(port, refs):
    port.write_candidates([relation(1, refs[:2])])
    other = relation(2, [refs[1], refs[3]])

    same_binding = other._replace(binding="cr_000000000001")
    same_label = other._replace(label="cr_000000000001")
    twice = [other, relation(3, [refs[0], refs[3]])._replace(label=other.label)]

    assert codes(port.write_candidates([same_binding])) == ["label_collision"]
    assert codes(port.write_candidates([same_label])) == ["label_collision"]
    assert codes(port.write_candidates(twice)) == [None, "label_collision"]


def test_good_candidates_of_a_batch_are_written_and_the_bad_ones_are_named(port, package, refs):
    batch = [
        relation(1, refs[:2]),
        relation(2, [refs[0], refs[0]]),
        relation(3, [refs[1], refs[3]]),
    ]

    made = port.write_candidates(batch)

    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    assert codes(made) == [None, "self_relation", None]
    assert [one["label"] for one in manifest["dependencies"]] == [batch[0].label, batch[2].label]


def test_a_reference_that_only_gaia_can_see_through_is_found_by_halves(port, package, refs):
    root = package / "src/field/__init__.py"
    hidden = "\nfrom gaia.engine.lang import question\n\ndef ask():\n    return question('Q?')\n"
    root.write_text(root.read_text() + hidden + "\nhidden = ask()\n")
    batch = [relation(n, [refs[0], refs[1]], None) for n in range(6)]
    batch[4] = relation(4, [refs[0], "hidden"], None)

    made = port.write_candidates(batch)

    manifest = json.loads((package / ".gaia/formalization_manifest.json").read_text())
    assert codes(made) == [None, None, None, None, "compile_failed", None]
    assert "hidden" not in json.dumps(manifest)
    assert len(manifest["dependencies"]) == 5
    assert port.check().ok


def test_a_batch_that_gaia_refuses_whole_leaves_every_byte(port, package, refs):
    root = package / "src/field/__init__.py"
    hidden = b"\r\nfrom gaia.engine.lang import question\r\nhidden = (lambda: question('Q?'))()\r\n"
    root.write_bytes(root.read_bytes() + hidden)
    before = source_bytes(package)

    made = port.write_candidates([relation(1, [refs[0], "hidden"], None)])

    assert codes(made) == ["compile_failed"]
    assert source_bytes(package) == before


def test_a_promotion_that_does_not_build_is_rolled_back_byte_for_byte(port, package, refs):
    windows = package / "src/field/windows.py"
    windows.write_bytes(b"from gaia.engine.lang import claim\r\n\r\nw = claim('W.')\r\n")
    candidate = relation(1, refs[:2], None)
    port.write_candidates([candidate])
    trap = package / "src/field/trap.py"
    trap.write_text(
        "import pathlib\n"
        "here = pathlib.Path(__file__).parent / 'authored' / 'promotion_pr_1.py'\n"
        "if here.exists() and 'contradict(' in here.read_text():\n"
        "    raise ValueError('not this one')\n"
    )
    before = source_bytes(package)

    gate = port.promote(Promotion("d1", candidate, "contradict", "pr_1", "Read both."))

    assert gate.outcome == "rolled_back"
    assert gate.failure.code == "postwrite.compile_fail"
    assert "not this one" in gate.failure.message
    assert gate.ir_hash_before == gate.ir_hash_after
    assert not gate.check.ok
    assert source_bytes(package) == before


@pytest.mark.parametrize(
    ("pattern", "verb", "code"),
    [
        ("contradict", "equal", "pattern_mismatch"),
        ("contradict", "depends_on", "verb_not_stable"),
        (None, "infer", "probability"),
    ],
)
def test_a_promotion_that_says_something_else_is_refused(port, package, refs, pattern, verb, code):
    candidate = relation(1, refs[:2], pattern)
    port.write_candidates([candidate])
    before = source_bytes(package)

    gate = port.promote(Promotion("d1", candidate, verb, "pr_1", "Read both."))

    assert (gate.outcome, gate.failure.code) == ("refused", code)
    assert source_bytes(package) == before


def test_only_a_candidate_that_is_in_the_package_is_promoted(port, package, refs):
    before = source_bytes(package)

    gate = port.promote(Promotion("d1", relation(1, refs[:2]), "contradict", "pr_1", "Read."))

    assert (gate.outcome, gate.failure.code) == ("refused", "not_projected")
    assert source_bytes(package) == before


def test_the_label_of_a_promotion_is_given_once(port, refs):
    first, second = relation(1, refs[:2]), relation(2, [refs[1], refs[3]])
    port.write_candidates([first, second])
    port.promote(Promotion("d1", first, "contradict", "pr_1", "Read."))

    other_decision = port.promote(Promotion("d2", second, "contradict", "pr_1", "Read."))
    label_of_a_candidate = port.promote(Promotion("d3", second, "contradict", first.label, "Read."))

    assert other_decision.failure.code == "label_collision"
    assert label_of_a_candidate.failure.code == "label_collision"


def test_an_obligation_about_nothing_is_refused(port, package, refs):
    made = port.sync_obligations(
        [
            OpenObligation("o1", "varvite:s1_0001::node_9999", "Show.", "other"),
            OpenObligation("o2", "nobody", "Show.", "other"),
            OpenObligation("o3", refs[0], "Show.", "no_kind"),
        ],
        [],
    )

    assert codes(made) == ["target_unknown", "target_unknown", "obligation_kind"]
    assert not (package / ".gaia/inquiry/state.json").exists()


def test_nodes_without_content_or_name_are_refused_and_the_others_written(port):
    batch = [node(0), node(1, content="  "), node(2)._replace(label="9x"), node(3, kind="paper")]

    made = port.add_source_shard("s1-0001", batch)

    assert codes(made) == [None, "content_missing", "label_not_identifier", "value_type"]
