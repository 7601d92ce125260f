"""`experiment watch` beside a process that writes the log."""

import json
import signal
import subprocess
import sys
import time

import pytest

from varvite.store import Store

WRITER = """
import json, os, sys, time

path, runs, rewrite = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def line(number):
    entry = {"run": number, "metric": 100 - number, "status": "keep", "commit": "c"}
    return json.dumps(entry) + "\\n"


for number in range(1, runs + 1):
    with open(path, "a") as log:
        for piece in (line(number)[:20], line(number)[20:]):
            log.write(piece)
            log.flush()
            time.sleep(0.01)
    if number == runs // 2 and rewrite != "none":
        while not os.path.exists(path + ".go"):
            time.sleep(0.02)
        with open(path) as log:
            head = log.readline()
        with open(path if rewrite == "truncate" else path + ".new", "w") as log:
            log.write(head + line(1000))
        if rewrite == "replace":
            os.replace(path + ".new", path)
"""
HEAD = {"type": "config", "name": "n", "metricName": "ms", "bestDirection": "lower"}


@pytest.fixture
def watching(varvite):
    """Starts `watch` in a process of its own; killed at the end if it goes on."""
    started = []

    def start(*args):
        command = [sys.executable, "-m", "varvite.cli", "--store", str(varvite.store)]
        command += ["--format", "ndjson", "experiment", "watch", *map(str, args)]
        made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(made)
        return made

    yield start
    for process in started:
        process.kill()
        process.communicate()


def reports(output):
    return [json.loads(line) for line in output.splitlines()]


def status(varvite):
    return Store(varvite.store).session("e")["summary"]


def wait_for(true):
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("in vain")


def runs_of(varvite, session="e"):
    with Store(varvite.store).experiment(session, wait_s=10) as opened:
        return opened.state().runs, opened.best().metric


@pytest.mark.parametrize("rewrite", ["none", "truncate", "replace"])
def test_a_log_that_is_written_meanwhile_is_in_the_session_at_the_end(
    varvite, watching, tmp_path, rewrite
):
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(HEAD) + "\n")
    process = watching(log, "e", "--create", "--every", "0.03")
    first = json.loads(process.stdout.readline())
    writer = subprocess.Popen([sys.executable, "-c", WRITER, log, "30", rewrite])

    if rewrite != "none":
        wait_for(lambda: status(varvite)["runs"] == 15)
        (tmp_path / "log.jsonl.go").touch()
    assert writer.wait(timeout=60) == 0
    wait_for(lambda: status(varvite)["runs"] == log.read_text().count("\n") - 1)
    process.terminate()
    output, notes = process.communicate(timeout=20)

    assert (process.returncode, notes) == (0, "ended by SIGTERM\n")
    made, lines = [first, *reports(output)], log.read_text().splitlines()
    metrics = [json.loads(line)["metric"] for line in lines[1:]]
    assert runs_of(varvite) == (len(metrics), min(metrics))
    assert (len(metrics), made[-1]["generation"]) == ((30, 1) if rewrite == "none" else (16, 2))
    assert [report["rewritten"] for report in made].count(True) == (rewrite != "none")
    assert len(made) > 1
    if rewrite == "none":
        assert sum(report["lines"] for report in made) == len(lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_it_goes_on_from_there(varvite, watching, tmp_path, number):
    log = tmp_path / "log.jsonl"
    log.write_text('{"run":1,"metric":5,"status":"keep"}\n')
    process = watching(log, "e", "--create", "--every", "0.03")
    first = json.loads(process.stdout.readline())

    process.send_signal(number)
    output, notes = process.communicate(timeout=20)

    assert (process.returncode, output, notes) == (0, "", f"ended by {number.name}\n")
    assert first["imported"] == 1
    with log.open("a") as more:
        more.write('{"run":2,"metric":4,"status":"keep"}\n')
    again = watching(log, "e", "--every", "0.03", "--until-idle", "0.3")
    (report,) = reports(again.communicate(timeout=20)[0])
    assert (report["lines"], report["imported"]) == (1, 1)
    assert runs_of(varvite) == (2, 4)


def test_a_log_that_is_not_there_yet_and_a_session_in_use_are_waited_for(
    varvite, watching, tmp_path
):
    log = tmp_path / "log.jsonl"
    process = watching(log, "e", "--create", "--every", "0.03")
    with Store(varvite.store).experiment("e", create=True):
        time.sleep(0.6)
        log.write_text('{"run":1,"metric":5,"status":"keep"}\n')
        waits = process.stderr.readline()

    report = json.loads(process.stdout.readline())
    process.terminate()
    process.communicate(timeout=20)

    assert waits.startswith("waiting: ")
    assert report["imported"] == 1


def test_a_session_that_is_done_ends_the_watch_with_its_error(varvite, watching, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"run":1,"metric":5,"status":"keep"}\n')
    with Store(varvite.store).experiment("e", create=True) as session:
        session.transition("archived")

    process = watching(log, "e", "--every", "0.03")
    output, error = process.communicate(timeout=20)

    assert (process.returncode, output) == (8, "")
    assert json.loads(error)["code"] == "session_status"


def test_for_people_each_import_is_a_line(varvite, tmp_path):
    log = tmp_path / "results.tsv"
    log.write_text("commit\tval_bpb\tmemory_gb\tstatus\tdescription\na\t1\t2\tkeep\td\nb\tx\n")

    result = varvite(
        "experiment", "watch", log, "e", "--create", "--until-idle", "0", shape="table"
    )

    assert result.stdout == "lines 3, imported 2, generation 1, cursor 4, 1 set aside\n"
    assert result.stderr == "nothing new for 0 s\n"
