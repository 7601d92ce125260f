"""A crash before any write of any call: the same call again makes the package what it would be."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from gaia_making import node, relation, source_bytes
from gaia_provider import GRAPH

from varvite.gaia import live
from varvite.gaia.worker import Worker
from varvite.graph.port import (
    ClosedObligation,
    Demotion,
    FocusSet,
    Hypothesis,
    OpenObligation,
    Promotion,
    Source,
)

REFS = [f"varvite:s1_0001::node_{number:04}" for number in range(4)]
CANDIDATE = relation(1, REFS[:2])
PROMOTION = Promotion("d1", CANDIDATE, "contradict", "pr_1", "Read both.")
OBLIGATION = OpenObligation("o1", REFS[0], "Show it.", "other")


def dictionary(given):
    made = given._asdict()
    if isinstance(given, Promotion):
        made["relation"] = made["relation"]._asdict()
    return made


CALLS = {
    "add_source_shard": {
        "shard": "s1-0002",
        "nodes": [dictionary(node(number)) for number in (10, 11)],
    },
    "grown shard": {"shard": "s1-0001", "nodes": [dictionary(node(number)) for number in (10, 11)]},
    "add_package": {"added": "../found-gaia"},
    "materialise": {
        "source": dictionary(Source("paper_1", "paper", "local", "p1", json.dumps(GRAPH)))
    },
    "sync_obligations": {
        "opened": [dictionary(OBLIGATION._replace(obligation_id="o2"))],
        "closed": [dictionary(ClosedObligation("o1"))],
        "owner": "s1",
    },
    "set_focus": {"focus": dictionary(FocusSet("f1", "Which?", "question")), "owner": "s1"},
    "add_hypotheses": {"hypotheses": [dictionary(Hypothesis("h1", "Size."))], "owner": "s1"},
    "write_candidates": {
        "relations": [dictionary(relation(number, REFS[2:], None)) for number in (2, 3)]
    },
    "promote": {"promotion": dictionary(PROMOTION)},
    "demote": {"demotion": dictionary(Demotion("d2", "d1", "candidate_1", "pr_1", "Wrong."))},
}
NAMES = {"grown shard": "add_source_shard"}


@pytest.fixture(scope="module")
def template(gaia_python, scaffold, gaia, tmp_path_factory):
    """A package in which each of the calls has something to do."""
    folder = tmp_path_factory.mktemp("template")
    root = Path(shutil.copytree(scaffold, folder / "field-gaia"))
    gaia("pkg", "scaffold", "--target", str(folder / "found-gaia"), "--name", "found-gaia")
    worker = Worker(gaia_python, owner="s1")
    worker.open_package(str(root))
    worker.add_source_shard("s1-0001", [node(number) for number in range(4)])
    worker.write_candidates([CANDIDATE])
    worker.sync_obligations([OBLIGATION], [])
    worker.close()
    return root


def crash_everywhere(python, template, work, call):
    request = {
        "template": str(template),
        "call": NAMES.get(call, call),
        "arguments": CALLS[call],
    }
    done = subprocess.run(
        [
            python,
            str(Path(__file__).with_name("gaia_crashing.py")),
            str(Path(live.__file__).parent),
            str(work),
        ],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def failures(answer):
    answers = answer if isinstance(answer, list) else [answer]
    return [one.get("failure", one) for one in answers]


def differing(found, wanted):
    names = sorted(found.keys() | wanted.keys())
    return [name for name in names if found.get(name) != wanted.get(name)]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("call", CALLS)
def test_after_a_crash_before_any_write_the_same_call_completes_the_package(
    gaia_python, template, tmp_path, call
):
    start = template
    if call == "demote":
        start = Path(shutil.copytree(template, tmp_path / "promoted-gaia"))
        worker = Worker(gaia_python, owner="s1")
        worker.open_package(str(start))
        assert worker.promote(PROMOTION).outcome == "applied"
        worker.close()
    if call == "add_package":
        shutil.copytree(template.parent / "found-gaia", tmp_path / "found-gaia")

    *crashed, whole = crash_everywhere(gaia_python, start, tmp_path, call)

    assert len(crashed) >= 2
    assert failures(whole["answer"]) == [None] * len(failures(whole["answer"]))
    for number, one in enumerate(crashed, 1):
        assert (number, failures(one["answer"])) == (number, failures(whole["answer"]))
        assert (number, differing(one["looks"], whole["looks"])) == (number, [])


def test_an_answer_that_nobody_recorded_is_given_again_and_nothing_is_written_twice(
    gaia_python, template, tmp_path
):
    """The crash between Gaia's write and our record, for every surface."""
    root = Path(shutil.copytree(template, tmp_path / "field-gaia"))
    new = [node(10), node(11)]
    candidates = [relation(2, REFS[2:], None)]
    demotion = Demotion("d2", "d1", "candidate_1", "pr_1", "Wrong.")

    def everything(port):
        return [
            *port.add_source_shard("s1-0002", new),
            *port.sync_obligations([OBLIGATION._replace(obligation_id="o2")], []),
            *port.sync_obligations([], [ClosedObligation("o1")]),
            port.set_focus(FocusSet("f1", "Which?", "question")),
            *port.add_hypotheses([Hypothesis("h1", "Size.")]),
            *port.write_candidates(candidates),
        ]

    first, second = (Worker(gaia_python, owner="s1") for _ in range(2))
    first.open_package(str(root))
    lost = everything(first)
    promoted = first.promote(PROMOTION)
    first.close()
    before = source_bytes(root)
    second.open_package(str(root))
    found = everything(second)
    promoted_again = second.promote(PROMOTION)
    after = source_bytes(root)
    second.demote(demotion)
    demoted_again = second.demote(demotion)
    second.close()

    assert {one.already for one in lost} == {False}
    assert {one.already for one in found} == {True}
    assert [one.result.get("package_ref") for one in lost] == [
        one.result.get("package_ref") for one in found
    ]
    assert (promoted.already, promoted_again.already, demoted_again.already) == (False, True, True)
    assert promoted_again.ir_hash_after == promoted.ir_hash_after
    assert after == before
