import os
import time
from pathlib import Path

import pytest

from varvite.experiment import running
from varvite.experiment.running import execute, measure, runs_benchmark


@pytest.fixture
def run(tmp_path):
    def measured(command, **options):
        given = {"cwd": str(tmp_path), "metric_name": "ms", "output": str(tmp_path / "out.log")}
        return measure(command, **(given | options))

    return measured


def alive(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def gone(pid):
    end = time.monotonic() + 5
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def test_a_metric_is_chosen_by_its_name_not_by_its_place(run):
    ran = run("echo METRIC other=1; echo METRIC ms=2")

    assert (ran.metric, ran.metrics, ran.status) == (2, {"other": 1}, "keep")


def test_a_benchmark_without_its_metric_is_a_crash_that_says_so(run):
    ran = run("echo METRIC other=1")

    assert (ran.metric, ran.status, ran.exit_code) == (None, "crash", 0)
    assert ran.warnings == ["No METRIC line for ms"]


def test_a_metric_of_a_benchmark_that_failed_is_no_metric(run):
    ran = run("echo METRIC ms=0; exit 3")

    assert (ran.metric, ran.status, ran.exit_code) == (None, "crash", 3)


def test_a_timeout_kills_a_group_that_ignores_sigterm_and_forked(run, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "GRACE_S", 0.2)
    stubborn = "trap '' TERM; (trap '' TERM; echo $BASHPID > child; while :; do sleep 0.1; done) &"
    began = time.monotonic()

    ran = run(
        f"{stubborn} echo $$ > leader; echo METRIC ms=1; while :; do sleep 0.1; done", timeout_s=0.5
    )

    assert (ran.timed_out, ran.exit_code, ran.metric, ran.status) == (True, None, None, "crash")
    assert time.monotonic() - began < 5
    pids = [int((tmp_path / name).read_text()) for name in ("leader", "child")]
    assert [gone(pid) for pid in pids] == [True, True]


def test_what_a_benchmark_leaves_running_does_not_outlive_it(run, tmp_path):
    ran = run("sleep 60 & echo $! > left; echo METRIC ms=1")

    assert ran.metric == 1
    assert gone(int((tmp_path / "left").read_text()))


def test_an_exception_while_waiting_kills_the_group(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running.time, "sleep", interrupted)

    with pytest.raises(KeyboardInterrupt):
        execute("echo $$ > leader; exec sleep 60", cwd=str(tmp_path), timeout_s=5)

    assert not list(tmp_path.glob("leader")) or not alive(
        int((tmp_path / "leader").read_text() or 0)
    )


def test_the_tail_is_ten_lines_and_the_file_has_them_all(run, tmp_path):
    ran = run("seq 1000; echo METRIC ms=1")

    assert ran.tail.split("\n") == [*map(str, range(992, 1001)), "METRIC ms=1"]
    assert (tmp_path / "out.log").read_text().count("\n") == 1001
    assert ran.output == str(tmp_path / "out.log")


def test_the_tail_is_four_kilobytes_of_whole_characters(run):
    ran = run("python3 -c \"print('é' * 5000, end='x')\"")

    assert len(ran.tail.encode()) == 4095
    assert ran.tail == "é" * 2047 + "x"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_an_output_that_is_shown_whole_leaves_no_file(run, temporary):
    ran = run("echo METRIC ms=1", output=None, repeat=3, checks="seq 80")

    assert (ran.tail, ran.output) == ("METRIC ms=1", None)
    assert ran.checks["tail"].split("\n") == [*map(str, range(1, 81))]
    assert (ran.checks["output"], list(temporary.iterdir())) == (None, [])


@pytest.mark.parametrize(
    "command",
    ["seq 11", "head -c 4097 /dev/zero", "printf 'x\\377'", "echo x; yes '' | head -n 5000"],
)
def test_an_output_that_is_not_shown_whole_is_in_the_one_file_that_is_named(
    run, temporary, command
):
    ran = run(f"echo METRIC ms=1 >&2; {command}", output=None, repeat=2, checks="seq 81")

    left = {str(path) for path in temporary.iterdir()}
    assert left == {ran.output, ran.checks["output"]}
    assert Path(ran.output).read_bytes().startswith(b"METRIC ms=1\n")


def test_a_run_that_is_broken_off_leaves_no_file(run, temporary, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("sleep 60", output=None)

    assert list(temporary.iterdir()) == []


def test_checks_run_after_a_clean_exit_alone(run, tmp_path):
    ran = run("exit 1", checks="touch checked")

    assert (ran.checks, (tmp_path / "checked").exists()) == (None, False)


@pytest.mark.parametrize(
    ("checks", "passed", "status"),
    [("true", True, "keep"), ("echo no; exit 2", False, "checks_failed")],
)
def test_checks_decide_whether_a_run_may_be_kept(run, checks, passed, status):
    ran = run("echo METRIC ms=1", checks=checks)

    assert (ran.checks["passed"], ran.status, ran.metric) == (passed, status, 1)


def test_checks_that_take_too_long_have_failed(run):
    ran = run("echo METRIC ms=1", checks="sleep 60", checks_timeout_s=0.2)

    assert (ran.checks["passed"], ran.checks["timed_out"], ran.status) == (
        False,
        True,
        "checks_failed",
    )


def test_replicates_give_their_median_and_are_kept(run):
    ran = run(
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; echo METRIC ms=$((n * n))", repeat=4
    )

    assert (ran.metric, ran.replicates) == (2.5, [0, 1, 4, 9])


def test_replicates_stop_at_the_first_failure(run):
    ran = run(
        "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; echo METRIC ms=1; exit $n", repeat=4
    )

    assert (ran.metric, ran.status, len(ran.replicates)) == (None, "crash", 2)


def test_a_command_reads_what_it_is_given_and_else_nothing(tmp_path):
    done = execute("cat", cwd=str(tmp_path), timeout_s=5, stdin=b"given")
    empty = execute("cat", cwd=str(tmp_path), timeout_s=5)

    assert (done.tail(), empty.tail()) == ("given", "")
    os.remove(done.output)
    os.remove(empty.output)


@pytest.mark.vectors("benchmark_command_guard")
def test_the_guard_passes_the_commands_that_pi_passes(vector):
    assert {"allowed": runs_benchmark(vector["input"]["command"])} == vector["expected"]
