"""Gaia absent, old, or in trouble: typed failures, the package as it was, and a way on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from gaia_making import node, relation, source_bytes

from varvite.gaia import live
from varvite.gaia.worker import Worker
from varvite.graph.port import ClosedObligation, OpenObligation, Promotion


@pytest.fixture
def worker(gaia_python, package):
    """One of its own, to be killed or to be started in another environment."""
    made = Worker(gaia_python, owner="s1", timeout_s=60)
    yield made
    made.close()


def codes(outcomes):
    return [one.failure and (one.failure.code, one.failure.retryable) for one in outcomes]


def probed(python):
    worker = Worker(str(python), timeout_s=60)
    try:
        return worker.probe().failure
    finally:
        worker.close()


def test_the_release_that_pip_takes_by_default_is_found_too_old(old_gaia_python):
    failure = probed(old_gaia_python)

    assert failure.code == "gaia_too_old"
    assert "0.4.4" in failure.message


def test_an_interpreter_without_gaia_is_told_from_one_that_does_not_start(gaia_python, tmp_path):
    subprocess.run([gaia_python, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)

    assert probed(tmp_path / "bare/bin/python").code == "gaia_missing"
    assert probed(tmp_path / "none").code == "python_missing"


def test_an_interpreter_that_is_too_old_says_so(gaia_python):
    old = [sys.executable] if sys.version_info < (3, 12) else []

    assert [probed(python).code for python in old] == ["python_too_old"] * len(old)


def test_without_uv_the_nodes_wait_and_the_next_call_adds_them(gaia_python, package, monkeypatch):
    before = source_bytes(package)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", "/nonexistent")
    without = Worker(gaia_python, owner="s1")
    without.open_package(str(package))

    refused = without.add_source_shard("s1-0001", [node(0)])
    without.close()
    project = (package / "pyproject.toml").read_bytes()
    monkeypatch.setenv("PATH", path)
    with_uv = Worker(gaia_python, owner="s1")
    with_uv.open_package(str(package))
    added = with_uv.add_source_shard("s1-0001", [node(0)])
    with_uv.close()

    assert codes(refused) == [("uv_missing", True)]
    assert project == before["pyproject.toml"]
    assert (added[0].failure, added[0].already) == (None, True)
    assert b"s1-0001-gaia" in (package / "pyproject.toml").read_bytes()


def test_a_failing_uv_leaves_the_project_file_as_it_was(gaia_python, package, monkeypatch):
    project = package / "pyproject.toml"
    project.write_text(
        project.read_text().replace("dependencies = []", 'dependencies = ["no-such-thing==1"]')
    )
    before = project.read_bytes()
    monkeypatch.setenv("UV_OFFLINE", "1")
    worker = Worker(gaia_python, owner="s1")
    worker.open_package(str(package))

    refused = worker.add_source_shard("s1-0001", [node(0)])
    worker.close()

    assert codes(refused) == [("uv_failed", True)]
    assert project.read_bytes() == before
    assert not (package / "uv.lock").exists()


def test_uv_is_never_let_download_a_python(gaia_python, package, monkeypatch):
    project = package / "pyproject.toml"
    before = project.read_bytes()
    monkeypatch.setenv("UV_PYTHON", "3.99")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "automatic")
    worker = Worker(gaia_python, owner="s1")
    worker.open_package(str(package))

    (refused,) = worker.add_source_shard("s1-0001", [node(0)])
    worker.close()

    assert codes([refused]) == [("uv_failed", True)]
    assert "No interpreter found for Python 3.99" in refused.failure.message
    assert project.read_bytes() == before


def test_a_package_that_someone_else_broke_holds_up_candidates_and_the_gate_alone(port, package):
    refs = [
        one.result["package_ref"]
        for one in port.add_source_shard("s1-0001", [node(n) for n in range(4)])
    ]
    candidate = relation(1, refs[:2])
    port.write_candidates([candidate])
    broken = package / "src/field/mine.py"
    broken.write_text("raise ValueError('half done')\n")
    before = source_bytes(package)

    written = port.write_candidates([relation(2, refs[2:])])
    gate = port.promote(Promotion("d1", candidate, "contradict", "pr_1", "Read."))
    checked = port.check()
    opened = port.sync_obligations([OpenObligation("o1", refs[0], "Show.", "other")], [])
    after = source_bytes(package)
    broken.unlink()
    healed = port.write_candidates([relation(2, refs[2:])])

    assert codes(written) == [("package_broken", True)]
    assert (gate.outcome, gate.failure.code, gate.failure.retryable) == (
        "refused",
        "package_broken",
        True,
    )
    assert (checked.ok, "half done" in checked.diagnostics[0]["message"]) == (False, True)
    assert codes(opened) == codes(healed) == [None]
    assert {name for name in after if after[name] != before.get(name)} == {
        ".gaia/inquiry/state.json",
        ".gaia/inquiry/tactics.jsonl",
    }


def test_a_module_that_is_no_python_is_a_broken_package(port, package):
    refs = [
        one.result["package_ref"] for one in port.add_source_shard("s1-0001", [node(0), node(1)])
    ]
    (package / "src/field/mine.py").write_text("def (")

    assert codes(port.write_candidates([relation(1, refs)])) == [("package_broken", True)]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ({"version": 3}, "state_newer"),
        ({"version": 2, "mode": "dreaming"}, "state_malformed"),
        ({"version": 2, "synthetic_obligations": [{"odd": 1}]}, "state_malformed"),
        (None, "state_malformed"),
    ],
)
def test_an_inquiry_state_that_is_not_understood_is_left_alone(port, package, state, code):
    path = package / ".gaia/inquiry/state.json"
    path.parent.mkdir()
    path.write_text("{" if state is None else json.dumps(state))
    before = source_bytes(package)

    made = port.sync_obligations([OpenObligation("o1", "focus_a", "Show.", "other")], [])

    assert codes(made) == [(code, False)]
    assert source_bytes(package) == before


def test_what_others_wrote_into_the_inquiry_state_stays(port, package, gaia):
    port.sync_obligations([OpenObligation("o1", "focus_a", "Show.", "other")], [])
    gaia("inquiry", "obligation", "add", "x", "-c", "Theirs.", "--path", str(package))
    path = package / ".gaia/inquiry/state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"of_a_later_gaia": [1]}))

    port.sync_obligations(
        [OpenObligation("o2", "focus_a", "More.", "other")], [ClosedObligation("o1")]
    )

    found = json.loads(path.read_text())
    assert [one["content"] for one in found["synthetic_obligations"]] == ["Theirs.", "More."]
    assert found["of_a_later_gaia"] == [1]


@pytest.mark.parametrize(
    ("times", "failure", "ours"), [(2, None, ["Ours."]), (99, "state_contended", [])]
)
def test_an_inquiry_state_that_changes_under_us_is_read_again(
    gaia_python, package, times, failure, ours
):
    script = Path(__file__).with_name("gaia_racing.py")
    folder = Path(live.__file__).parent

    done = subprocess.run(
        [gaia_python, str(script), str(folder), str(package), str(times)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    found, contents = json.loads(done.stdout)
    written = min(times, 5)
    theirs = [f"Theirs {times - 1 - number}." for number in range(written)]
    assert (found and (found["code"], found["retryable"])) == (failure and (failure, True))
    assert contents == theirs + ours


def test_a_worker_that_hangs_is_stopped_and_started_again(worker, package):
    worker.open_package(str(package))
    (package / "src/field/slow.py").write_text("import time\ntime.sleep(600)\n")
    worker.timeout_s = 3

    stuck = worker.check()
    (package / "src/field/slow.py").unlink()
    worker.timeout_s = 60
    healed = worker.add_source_shard("s1-0001", [node(0)])

    assert (stuck.diagnostics[0]["code"], stuck.diagnostics[0]["retryable"]) == (
        "gaia_timeout",
        True,
    )
    assert codes(healed) == [None]
    assert worker.starts == 2


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("import os, sys\nprint('bye', file=sys.stderr, flush=True)\nos._exit(7)\n", "gaia_died"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "gaia_died"),
        ("raise SystemExit(3)\n", "compile_failed"),
        ("import sys\nsys.exit\n1/0\n", "compile_failed"),
    ],
)
def test_a_package_whose_code_ends_the_worker_is_a_failure_and_no_more(
    worker, package, code, failure
):
    worker.open_package(str(package))
    (package / "src/field/mine.py").write_text(code)

    found = worker.check()
    (package / "src/field/mine.py").unlink()

    assert found.diagnostics[0]["code"] == failure
    assert worker.probe().version == "0.5.0a9"


def test_what_a_package_prints_is_not_taken_for_an_answer(worker, package):
    worker.open_package(str(package))
    refs = [
        one.result["package_ref"] for one in worker.add_source_shard("s1-0001", [node(0), node(1)])
    ]
    (package / "src/field/loud.py").write_text('print(\'{"number": 1, "done": 2}\')\n')

    assert codes(worker.write_candidates([relation(1, refs)])) == [None]


def test_two_sessions_on_one_package_keep_apart(gaia_python, package):
    first, second = Worker(gaia_python, owner="s1"), Worker(gaia_python, owner="s2")
    try:
        for one in (first, second):
            one.open_package(str(package))
        refs = [
            one.result["package_ref"]
            for one in first.add_source_shard("s1-0001", [node(0), node(1)])
        ]
        other = [
            one.result["package_ref"]
            for one in second.add_source_shard(
                "s2-0001", [node(0, session="s2"), node(2, session="s2")]
            )
        ]
        opened = [
            one.sync_obligations([OpenObligation("o1", refs[0], "Show.", "other")], [])[0]
            for one in (first, second)
        ]
        written = first.write_candidates([relation(1, refs)])
        same_name = second.write_candidates([relation(1, other, session="s2")])
        across = second.write_candidates([relation(2, [refs[0], other[1]], session="s2")])
        closed = second.sync_obligations([], [ClosedObligation("o1")])
    finally:
        first.close()
        second.close()

    rows = json.loads((package / ".gaia/inquiry/state.json").read_text())["synthetic_obligations"]
    assert refs[0] != other[0]
    assert opened[0].result["qid"] != opened[1].result["qid"]
    assert codes(written + across + closed) == [None, None, None]
    assert codes(same_name) == [("label_collision", False)]
    assert [one["anchor"]["varvite"]["session"] for one in rows] == ["s1"]
