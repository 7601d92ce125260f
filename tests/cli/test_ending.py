import json
import os
import pty
import signal
import subprocess
import sys
import time

import click
import pytest

from varvite import errors
from varvite.cli.failing import failure
from varvite.errors import VarviteError

CODES = {
    "InputError": 2,
    "NotFoundError": 3,
    "BusyError": 4,
    "QueryError": 5,
    "DamageError": 6,
    "NewerFormatError": 7,
    "ConflictError": 8,
    "StoppedError": 9,
    "StorageError": 1,
}


def tree(kind):
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_each_branch_of_the_error_tree_has_its_exit_code(name, code):
    for kind in tree(getattr(errors, name)):
        error = kind("what happened", hint="what to do", file="f")

        expected = {"code": kind.code, "message": "what happened", "hint": "what to do"}
        assert failure(error) == (code, expected | {"retryable": kind.retryable, "file": "f"})


def test_the_branches_are_all_there_are():
    assert {kind.__name__ for kind in VarviteError.__subclasses__()} == set(CODES)


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        (click.UsageError("no"), "usage", 2),
        (click.BadParameter("no"), "usage", 2),
        (click.FileError("f", "no"), "usage", 2),
        (click.Abort(), "interrupted", 130),
        (KeyboardInterrupt(), "interrupted", 130),
        (OSError(28, "no space"), "disk_full", 1),
        (ZeroDivisionError("by zero"), "internal", 1),
    ],
)
def test_what_is_no_error_of_ours_has_an_exit_code_too(error, code, exit_code):
    found = failure(error)

    assert (found.exit_code, found.values["code"]) == (exit_code, code)
    assert set(found.values) == {"code", "message", "hint", "retryable"} | (
        {"errno"} if code == "disk_full" else set()
    )


def test_a_usage_error_is_one_json_object_too(varvite):
    error = varvite.refused(2, "compact", "--nonsense")

    assert error == {
        "code": "usage",
        "message": "No such option '--nonsense'.",
        "hint": "`cli compact --help`",
        "retryable": False,
    }


def test_an_error_is_two_lines_for_people(varvite):
    result = varvite("graph", "open", "UP", "--create", shape="table")

    assert result.exit_code == 2
    assert result.stderr == (
        "error: 'UP' cannot name a session\n"
        "hint: 1 to 64 of a-z, 0-9, _ and -, starting with a letter or digit; titles are data\n"
    )


def test_an_error_cannot_move_the_cursor_of_a_terminal(varvite):
    result = varvite("graph", "open", "\x1b[2J\x9b0m", "--create", shape="table")

    assert "\x1b" not in result.stderr
    assert "\x9b" not in result.stderr


def test_a_group_without_verb_gives_its_help_and_exits_with_two(varvite):
    result = varvite("graph")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")


def test_a_reader_that_goes_away_ends_the_command_quietly(searched):
    command = [sys.executable, "-m", "varvite.cli", "--store", str(searched.store), "sql"]
    asked = "select repeat('x', 1000) as x from range(2000)"

    with subprocess.Popen([*command, asked], stdout=-1, stderr=-1) as child:
        child.stdout.read(10)
        child.stdout.close()
        complaint = child.stderr.read()

    assert (child.returncode, complaint) == (0, b"")


def test_ctrl_c_ends_with_130_and_what_was_committed_stays(searched, tmp_path):
    os.mkfifo(tmp_path / "endless")
    command = [sys.executable, "-m", "varvite.cli", "--store", str(searched.store)]
    command += ["experiment", "append", "--session", "s", str(tmp_path / "endless")]

    child = subprocess.Popen(command, stdout=-1, stderr=-1)
    with child, (tmp_path / "endless").open("wb", buffering=0) as fifo:
        fifo.write(b"[")
        time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        answer, complaint = child.communicate()

    assert (child.returncode, answer) == (130, b"")
    assert json.loads(complaint)["code"] == "interrupted"


def on_terminal(*arguments, env=None):
    """What a command shows on a terminal, and its exit code."""
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "varvite.cli", *arguments]
    environ = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100"} | (env or {})
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, env=environ) as child:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(controller, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(controller)
    return shown.decode(), child.returncode


def test_a_terminal_gets_a_table(searched):
    shown, code = on_terminal("--store", str(searched.store), "sql", "select 1 as one")

    assert code == 0
    assert "one" in shown
    assert shown.endswith("1 row\r\n")


def test_a_terminal_gets_no_escape_of_the_data(searched):
    asked = "select chr(27) || '[31mred' || chr(8238) as x"

    shown, _ = on_terminal("--store", str(searched.store), "sql", asked, env={"NO_COLOR": "1"})

    assert "\x1b[31m" not in shown
    assert "\u202e" not in shown
    assert "red" in shown


def test_a_terminal_gets_no_binary(searched):
    shown, code = on_terminal(
        "--store", str(searched.store), "--format", "parquet", "sql", "select 1"
    )

    assert code == 2
    assert "send it to a file" in shown


def test_writing_to_a_newer_format_ends_with_seven_and_reading_goes_on(searched):
    from varvite.disk import proof

    file = searched.store / "s" / "session.json"
    values = proof.read_document(file.read_bytes(), "s")
    file.write_bytes(proof.document(values | {"format": 99}))

    error = searched.refused(7, "graph", "open", "s")

    assert (error["code"], error["found"]) == ("newer_format", 99)
    assert searched.json("graph", "status", "s")["cursor"] == 10


def test_a_compaction_whose_time_is_over_ends_with_nine_and_says_how_far_it_came(searched):
    error = searched.refused(9, "compact", "--max-seconds", "0")

    assert (error["code"], error["retryable"]) == ("stopped", True)
    assert (
        error["receipt"]["rows"]
        == searched.json("sql", "select count(*) as n from records")[0]["n"]
    )
