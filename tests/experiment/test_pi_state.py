"""pi's own reading of a log, and what ours makes of the same lines."""

import math

import pytest

from varvite.experiment.pi_state import PiRun, PiState, best, best_shown
from varvite.experiment.session import Metric


def told(number):
    return "Infinity" if number == math.inf else number


def in_pis_words(run):
    return {
        "run": run.run,
        "metric": told(run.metric),
        "status": run.status,
        "segment": run.segment,
        "metrics": run.metrics,
        "confidence": run.confidence,
        "timestamp": run.timestamp,
        "has_asi": run.asi is not None,
    }


@pytest.mark.vectors("reconstruct")
def test_a_log_is_read_as_pi_reads_it(vector, pi_reading):
    state = PiState(pi_reading(vector["input"]["jsonl"].encode()))

    baseline, winner = state.baseline(), state.best()
    assert {
        "name": state.name,
        "metric_name": state.metric_name,
        "metric_unit": state.metric_unit,
        "direction": state.direction,
        "current_segment": state.segment,
        "has_config_header": state.configured,
        "display_name": state.display_name,
        "secondary": [list(pair) for pair in state.secondary.items()],
        "runs": [in_pis_words(run) for run in state.runs],
        "baseline": told(baseline.metric) if baseline else None,
        "best": told(winner.metric) if winner else None,
    } == vector["expected"]


@pytest.mark.vectors("reconstruct", by="ours")
def test_the_ledger_over_pis_reading_points_where_pi_does(vector, pi_reading, dict_ledger):
    ledger = dict_ledger()
    for record in pi_reading(vector["input"]["jsonl"].encode()):
        ledger.add(record)

    segment, expected = ledger.current(), vector["expected"]
    definition = segment.definition
    found = [definition.name, definition.metric_name, definition.metric_unit]
    assert found == [expected[name] for name in ("name", "metric_name", "metric_unit")]
    assert ledger.state().segment - 1 == expected["current_segment"]
    assert (segment.best.metric if segment.best else None) == expected["best"]
    if expected["baseline"] != "Infinity":
        metric = segment.baseline.metric if segment.baseline else None
        assert metric == expected["baseline"]


@pytest.mark.parametrize("number", ["021", "022"])
def test_by_ours_a_status_that_is_unknown_or_missing_is_no_keep(
    shared, vectors, dict_ledger, pi_records, number
):
    vector = vectors[f"reconstruct-{number}"]
    ledger = dict_ledger()
    for record in pi_records([vector["input"]["jsonl"].encode()], closed=True):
        ledger.add(record)

    assert ledger.state().runs == len(vector["expected"]["runs"])
    assert (ledger.kept(), ledger.current().best) == ([], None)
    assert ledger.current().baseline_valid is None


@pytest.mark.vectors("best_and_confidence")
def test_best_baseline_and_confidence_are_pis(vector):
    given, state = vector["input"], PiState()
    state.configure("S", "ms", "ms", given["direction"])
    for number, (metric, status) in enumerate(given["runs"], 1):
        state.log(PiRun(number, metric, status, 0))

    baseline, winner = state.baseline(), best(state.runs, given["direction"])
    shown = best_shown(state.runs, given["direction"])
    found = {
        "baseline": baseline.metric if baseline else None,
        "best_value": winner.metric if winner else None,
        "best_run_first_tie": winner.run if winner else None,
        "widget_best_run": shown.run if shown else None,
    }
    expected = dict(vector["expected"])
    confidence = expected.pop("confidence")
    assert found == expected
    assert state.confidence() == (confidence and pytest.approx(confidence, rel=1e-12, abs=0))


@pytest.mark.vectors("best_and_confidence", by="ours")
def test_a_session_points_where_pi_does(vector, open_session):
    given = vector["input"]
    session = open_session()
    direction = {"lower": "minimize", "higher": "maximize"}[given["direction"]]
    session.start(Metric("ms", "ms", direction))
    for metric, status in given["runs"]:
        session.append_record({"type": "run", "status": status, "metric": metric})

    baseline, winner = session.baseline(), session.best()
    expected = vector["expected"]
    assert (baseline.metric if baseline else None) == expected["baseline"]
    assert (winner.metric if winner else None) == expected["best_value"]
    assert (winner.ordinal if winner else None) == expected["best_run_first_tie"]


def test_pis_widget_shows_no_run_at_zero_and_the_latest_of_equals():
    runs = [PiRun(1, 0, "keep", 0), PiRun(2, 3, "keep", 0), PiRun(3, 3, "keep", 0)]

    assert best_shown(runs, "lower").run == 3
    assert best(runs, "lower").run == 1
    assert best_shown(runs[:1], "lower") is None
