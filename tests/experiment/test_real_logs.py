import json
import random
from math import isclose

import pytest

from varvite.adapters.pi_line import as_pi
from varvite.adapters.pi_log import PiLog
from varvite.experiment.confidence import confidence_pi

STATUSES = ("keep", "discard", "crash", "checks_failed")


@pytest.fixture(scope="module")
def logs(shared):
    return shared / "data" / "experiments"


@pytest.fixture(scope="module")
def expected(logs):
    return json.loads((logs / "expected.json").read_text())["files"]


def strict(files):
    return {name: entry for name, entry in files.items() if entry["set"] == "strict"}


def definition(value):
    return {
        "name": value.name,
        "metric_name": value.metric_name,
        "metric_unit": value.metric_unit,
        "direction": "higher" if value.direction == "maximize" else "lower",
    }


def pointer(run, *names):
    return {"ordinal": run.ordinal, "run": run.run_logged} | {
        name: getattr(run, name) for name in names
    }


def segment_values(segment, kept):
    """A segment of ours in the words of the expected values."""
    baseline, best = segment.baseline, segment.best
    return definition(segment.definition) | {
        "segment": segment.segment - 1,
        "runs": segment.runs,
        "status": {name: segment.statuses.get(name, 0) for name in STATUSES},
        "baseline": pointer(baseline, "metric", "status") if baseline else None,
        "baseline_metric": baseline.metric if baseline else None,
        "best": pointer(best, "metric") if best else None,
        "kept_ordinals": [run.ordinal for run in kept],
        "kept_runs": [run.run_logged for run in kept],
    }


def final_values(state):
    return definition(state.definition) | {
        "current_segment": state.segment - 1,
        "runs_total": state.runs,
        "status_total": {name: state.statuses.get(name, 0) for name in STATUSES},
    }


def assert_as_expected(entry, state, segment_of, kept):
    assert final_values(state) == entry["final"]
    for segment in entry["segments"]:
        number = segment["segment"] + 1
        values = segment_values(segment_of(number), [run for run in kept if run.segment == number])
        assert values == {name: segment[name] for name in values}


def test_each_strict_log_gives_the_expected_segments(logs, expected, dict_ledger, pi_records):
    files = strict(expected)

    for name, entry in files.items():
        ledger = dict_ledger()
        for record in pi_records([(logs / "autoresearch" / name).read_bytes()]):
            ledger.add(record)

        assert_as_expected(entry, ledger.state(), ledger.segment, ledger.kept())
    assert len(files) >= 33


def test_each_log_gives_what_pi_makes_of_it_in_pis_reading(logs, expected, dict_ledger, pi_records):
    for name, entry in expected.items():
        ledger = dict_ledger()
        for record in pi_records([(logs / "autoresearch" / name).read_bytes()]):
            if record["stream"] == "records":
                ledger.add(as_pi(record))

        assert_as_expected(entry, ledger.state(), ledger.segment, ledger.kept())


def test_a_session_holds_a_strict_log_as_expected_and_takes_nothing_twice(
    logs, expected, open_session
):
    for name, entry in strict(expected).items():
        session = open_session(name.removesuffix(".jsonl"))
        log = PiLog(logs / "autoresearch" / name)

        report = session.import_log(log)
        cursor = session.cursor
        again = session.import_log(log)

        def segment_of(number, session=session):
            return session.segment(number) or empty(session, number)

        assert_as_expected(entry, session.state(), segment_of, session.kept())
        assert report.imported == entry["lines"]
        assert (report.quarantined, report.unfinished) == ([], 0)
        assert (again.imported, again.lines, session.cursor) == (0, 0, cursor)


def empty(session, number):
    from varvite.experiment.ledger import SegmentState

    return SegmentState(number, session.state().definition)


def row(ledger, runs):
    """The state as a row of the trajectories; `runs` are those of pi's reading, by segment."""
    segment = ledger.current()
    number = segment.segment
    kept = segment.statuses.get("keep", 0)
    best = segment.best
    return [
        number - 1,
        segment.runs,
        kept,
        segment.baseline.metric if segment.baseline else None,
        best.metric if best else None,
        best.ordinal if best else None,
        confidence_pi(runs.get(number, []), segment.definition.direction),
    ]


def same(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, int | float):
        return isclose(ours, theirs, rel_tol=1e-12, abs_tol=0)
    return ours == theirs


def add(ledger, runs, record):
    ledger.add(record)
    if record["type"] == "run":
        number = ledger.state().segment
        runs.setdefault(number, []).append((record["metric"], record["status"]))


def random_chunks(data, chance):
    at = 0
    while at < len(data):
        size = chance.randint(1, 3000)
        yield data[at : at + size]
        at += size


@pytest.mark.parametrize("whole_set", ["strict", "dialect"])
def test_the_state_after_each_line_is_that_of_the_trajectories(
    logs, expected, dict_ledger, pi_records, whole_set
):
    rows = (logs / "trajectories.ndjson").read_text().splitlines()
    chance = random.Random(7)

    for trajectory in map(json.loads, rows):
        if expected[trajectory["file"]]["set"] != whole_set:
            continue
        ledger, runs = dict_ledger(), {}
        data = (logs / "autoresearch" / trajectory["file"]).read_bytes()
        theirs = iter(trajectory["rows"])
        for lines, record in enumerate(pi_records(random_chunks(data, chance)), 1):
            if record["stream"] == "records":
                add(ledger, runs, as_pi(record) if whole_set == "dialect" else record)
            ours, wanted = [lines, *row(ledger, runs)], next(theirs)
            assert all(map(same, ours, wanted)), (trajectory["file"], ours, wanted)
        assert next(theirs, None) is None
