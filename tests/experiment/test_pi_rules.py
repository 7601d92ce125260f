"""Where pi's files lie, when it goes on, and what it tells after a compaction."""

import pytest

from varvite.experiment.pi_digest import digest, fixed, number
from varvite.experiment.pi_guard import is_active, must_stop, trailing_failures
from varvite.experiment.pi_paths import CURRENT, OLDER, session_path, session_paths
from varvite.experiment.pi_state import PiState

LETTERS = {"k": "keep", "d": "discard", "c": "crash"}


@pytest.mark.vectors("session_paths")
def test_files_lie_where_pi_looks_for_them(vector):
    existing = set(vector["input"]["existing"])

    assert session_paths(existing.__contains__) == vector["expected"]


@pytest.mark.parametrize("name", OLDER)
def test_an_older_file_counts_until_auto_has_one_of_pis(tmp_path, name):
    for path in (OLDER[name], ".auto/other.txt"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")

    before = session_path(str(tmp_path), name)
    (tmp_path / ".auto/hooks").mkdir()

    assert before == str(tmp_path / OLDER[name])
    assert session_path(str(tmp_path), name) == str(tmp_path / CURRENT[name])


@pytest.mark.vectors("auto_resume_guard")
def test_the_loop_goes_on_as_long_as_pis(vector):
    given = vector["input"]
    segments = given.get("statuses_by_segment", {"0": given.get("statuses")})
    letters = segments[str(given.get("current_segment", 0))]
    statuses = [LETTERS.get(letter, "checks_failed") for letter in letters]

    made = {
        "trailing_failures": trailing_failures(statuses),
        "stop": must_stop(given["auto_resume_turns"], statuses),
    }

    assert made == vector["expected"]


def test_failed_checks_end_a_row_of_failures():
    assert trailing_failures(["discard"] * 30 + ["checks_failed", "crash"]) == 1


@pytest.mark.vectors("activation")
def test_a_session_is_on_where_pis_is(vector):
    given = vector["input"]

    active = is_active(
        given["cwd"],
        given["work_dir"],
        log_exists=given["log_exists"],
        recorded=given["recorded"],
    )

    assert {"active": active} == vector["expected"]


@pytest.mark.vectors("compaction_digest")
def test_the_digest_has_pis_facts(vector, pi_reading):
    made = digest(PiState(pi_reading(vector["input"]["jsonl"].encode())))

    assert {
        "goal": made.goal,
        "counts": made.counts,
        "baseline": made.baseline,
        "best": made.best,
        "shown_runs": len(made.runs),
        "first_shown": made.runs[0] if made.runs else None,
        "last_shown": made.runs[-1] if made.runs else None,
    } == vector["expected"]


def test_the_digest_tells_what_a_run_taught(pi_reading):
    line = (
        b'{"run":1,"metric":2,"description":"d","asi":{"hypothesis":" h ","next_action_hint":"n"}}'
    )

    (told,) = digest(PiState(pi_reading(line))).runs

    assert told == "#1 keep          2 | desc: d | hypothesis: h | next: n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (-2.0, "-2"),
        (0.125, "0.13"),
        (-0.125, "-0.13"),
        (1.005, "1.00"),
        (2.5, "2.50"),
        (float("inf"), "Infinity"),
    ],
)
def test_numbers_are_rounded_as_javascript_does(value, text):
    assert number(value) == text
    assert fixed(0.25, 1) == "0.3"
