import json

import pytest

from varvite.experiment import hooks
from varvite.experiment.hooks import TRUNCATED, Fired, capped, fire

CASES = {
    "9000 bytes one line": b"a" * 9000,
    "9000 bytes of 10-byte lines": b"123456789\n" * 900,
    "8193": b"a" * 8193,
    "8192": b"a" * 8192,
    "3-byte chars over the cap": "€".encode() * 3000,
}


@pytest.fixture
def hook(tmp_path):
    def write(text, *, stage="after", folder=".auto/hooks", mode=0o755):
        path = tmp_path / folder / f"{stage}.sh"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return str(tmp_path)

    return write


@pytest.mark.vectors("hook_result")
def test_what_a_fire_says_is_what_pi_makes_of_it(vector):
    stage, given = vector["input"]["stage"], vector["input"]["result"]
    fired = Fired(
        given["fired"],
        given["stdout"],
        given["stderr"],
        given["exitCode"],
        given["timedOut"],
        given["durationMs"],
    )

    made = {"steer": fired.steer(stage), "log_line": {"type": "hook"} | fired.entry(stage)}

    assert made == vector["expected"]


@pytest.mark.vectors("hook_stdout_cap")
def test_output_is_cut_where_pi_cuts_it(vector):
    given = CASES[vector["input"]["case"]]

    text = capped(given)

    kept = text.removesuffix(TRUNCATED)
    assert vector["expected"] == {
        "truncated": kept != text,
        "kept_bytes": len(kept.encode()),
        "no_replacement_char": "\ufffd" not in text,
    }


def test_a_hook_reads_one_line_of_json(hook):
    cwd = hook("cat")

    fired = fire(cwd, "after", {"run_entry": {"run": 1}})

    assert json.loads(fired.stdout) == {"event": "after", "cwd": cwd, "run_entry": {"run": 1}}
    assert fired.stdout.count("\n") == 1


def test_a_hook_that_does_not_read_is_none_the_worse_for_it(hook):
    fired = fire(hook("exec 0<&-; echo done"), "after", {"big": "x" * 1_000_000})

    assert fired.steer("after") == "done"


def test_a_hook_that_is_missing_or_not_executable_does_not_fire(hook, tmp_path):
    assert fire(str(tmp_path), "before", {}) == Fired(fired=False)
    assert fire(hook("echo no", mode=0o644), "after", {}) == Fired(fired=False)


def test_the_older_folder_counts_where_auto_has_nothing_of_pis(hook):
    cwd = hook("echo old", folder="autoresearch.hooks")

    assert fire(cwd, "after", {}).stdout == "old\n"
    hook("echo new")
    assert fire(cwd, "after", {}).stdout == "new\n"


def test_a_hook_that_hangs_is_cut_off(hook, monkeypatch):
    monkeypatch.setattr(hooks, "TIMEOUT_S", 0.2)

    fired = fire(hook("sleep 60"), "after", {})

    assert (fired.timed_out, fired.exit_code) == (True, None)
    assert fired.steer("after") == "[after hook timed out after 0.2s]"


def test_stderr_is_told_apart_from_what_is_printed(hook):
    fired = fire(hook("echo out; echo err >&2; exit 4"), "after", {})

    assert fired.steer("after") == "[after hook exited 4]\nerr\nout"
