"""The loop, one command a step."""

import subprocess

import pytest


@pytest.fixture
def looping(varvite, tmp_path):
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "ms").write_text("100")
    identity = ["-c", "user.email=a@b.c", "-c", "user.name=a"]
    for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "start"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    options = ["--scope", "src", "--max-iterations", 2, "--working-dir", folder]
    command = "echo METRIC ms=$(cat src/ms)"
    varvite.json("experiment", "init", "s", "--metric", "ms", "--command", command, *options)
    return folder


def test_a_run_is_measured_and_then_logged(varvite, looping):
    ran = varvite.json("experiment", "run", "s", "--repeat", 2)
    done = varvite.json(
        "experiment", "log", "s", "keep", "-m", "base", "--asi", '{"hypothesis":"h"}'
    )

    assert (ran["metric"], ran["replicates"]) == (100, [100, 100])
    assert (done["status"], done["left"]) == ("keep", 1)
    brief = varvite.json("experiment", "brief", "s")
    assert [(run["description"], run["hypothesis"]) for run in brief["recent"]] == [("base", "h")]


def test_a_command_of_ones_own_takes_its_own_options(varvite, looping, tmp_path):
    options = ["--timeout", 0.2, "--output", tmp_path / "out"]

    ran = varvite.json("experiment", "run", "s", "echo METRIC ms=1; sleep 60", *options)

    assert (ran["timed_out"], ran["metric"], ran["output"]) == (True, None, str(tmp_path / "out"))


def test_a_keep_that_was_not_measured_is_bad_input(varvite, looping):
    error = varvite.refused(2, "experiment", "log", "s", "keep")

    assert error["message"] == "keep outcome requires primary metric"


@pytest.mark.parametrize(
    ("command", "options", "why"),
    [
        ("exit 3", [], "exit code 3"),
        ("true", [], "it gave no METRIC line of the session's metric"),
        ("sleep 60", ["--timeout", 0.05], "it was cut off at its timeout"),
    ],
)
def test_a_keep_of_a_crash_is_told_why_and_what_may_be_logged(
    varvite, looping, command, options, why
):
    varvite.json("experiment", "run", "s", command, *options)

    error = varvite.refused(2, "experiment", "log", "s", "keep")

    assert error["message"] == f"keep: the last run crashed: {why}"
    assert error["hint"] == "log it as crash or discard, or mend it and run again"
    assert varvite.json("experiment", "log", "s", "crash")["status"] == "crash"


def test_the_limit_is_a_conflict(varvite, looping):
    for _ in range(2):
        varvite.json("experiment", "run", "s")
        varvite.json("experiment", "log", "s", "discard")

    error = varvite.refused(8, "experiment", "run", "s")

    assert (error["code"], error["limit"]) == ("iteration_limit", 2)


def test_git_that_refuses_is_a_conflict(varvite, looping):
    (looping / "src" / "mine").write_text("mine")

    error = varvite.refused(8, "experiment", "run", "s")

    assert error["code"] == "git"


def test_an_asi_that_is_no_object_is_bad_input(varvite, looping):
    assert (
        varvite.refused(2, "experiment", "log", "s", "discard", "--asi", "[1]")["code"]
        == "malformed_input"
    )
