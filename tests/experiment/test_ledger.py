import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varvite.records.outcomes import STATUSES, measured

METRICS = st.one_of(
    st.sampled_from([None, float("nan"), float("inf"), float("-inf"), 0, -0.0, 1, 1.5, -2, "9"]),
    st.integers(-3, 3),
    st.floats(),
)
RUN = st.tuples(st.just("run"), st.sampled_from(STATUSES), METRICS)
CONFIG = st.tuples(
    st.just("config"),
    st.sampled_from([None, "total_ms", "score"]),
    st.sampled_from([None, "minimize", "maximize"]),
)


def record_of(step):
    kind, first, second = step
    if kind == "config":
        return {"type": "config", "metric_name": first, "direction": second}
    metric, state = measured(second)
    return {"type": "run", "status": first, "metric": metric, "metric_state": state}


def recomputed(steps):
    """Every segment's pointers and the kept ordinals, from all steps at once."""
    segments, direction, ordinal = [{"direction": "minimize", "runs": []}], "minimize", 0
    for kind, first, second in steps:
        if kind == "config":
            direction = second or direction
            if ordinal:
                segments.append({"direction": direction, "runs": []})
            segments[-1]["direction"] = direction
        else:
            ordinal += 1
            segments[-1]["runs"].append((ordinal, first, second))
    return [pointers(segment) for segment in segments]


def pointers(segment):
    runs = segment["runs"]
    valid = [
        (ordinal, metric)
        for ordinal, status, metric in runs
        if status == "keep" and isinstance(metric, int | float) and math.isfinite(metric)
    ]
    sign = -1 if segment["direction"] == "maximize" else 1
    return {
        "runs": len(runs),
        "kept": [ordinal for ordinal, status, _ in runs if status == "keep"],
        "baseline": runs[0][0] if runs else None,
        "baseline_valid": valid[0][0] if valid else None,
        "best": min(valid, key=lambda run: (sign * run[1], run[0]))[0] if valid else None,
    }


def from_index(ledger, number):
    segment = ledger.segment(number)
    found = {
        name: run.ordinal if (run := getattr(segment, name)) else None
        for name in ("baseline", "baseline_valid", "best")
    }
    kept = [run.ordinal for run in ledger.kept() if run.segment == number]
    return {"runs": segment.runs, "kept": kept} | found


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(RUN, RUN, RUN, CONFIG), max_size=40))
def test_best_baselines_and_kept_equal_a_recompute_of_everything(dict_ledger, steps):
    ledger = dict_ledger()

    for step in steps:
        ledger.add(record_of(step))

    wanted = recomputed(steps)
    assert ledger.state().segment == len(wanted)
    assert [from_index(ledger, number) for number in range(1, len(wanted) + 1)] == wanted


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_C19_best_and_baseline_with_bad_numbers(dict_ledger, direction):
    worst = 0 if direction == "minimize" else 99
    better = 9.5 if direction == "minimize" else 10.5
    ledger = dict_ledger()

    for step in [
        ("config", "ms", direction),
        ("run", "keep", 10),
        ("run", "keep", float("nan")),
        ("run", "keep", None),
        ("run", "keep", float("inf")),
        ("run", "keep", float("-inf")),
        ("run", "unknown", worst),
        ("run", "crash", worst),
        ("run", "checks_failed", worst),
        ("run", "keep", better),
        ("run", "keep", better),
    ]:
        ledger.add(record_of(step))
    first = ledger.current()
    ledger.add(record_of(("config", "ms", direction)))
    opened = ledger.current()
    ledger.add(record_of(("run", "crash", worst)))
    ledger.add(record_of(("run", "keep", 11)))
    second = ledger.current()

    assert (first.best.ordinal, first.best.metric) == (9, better)
    assert first.baseline.ordinal == first.baseline_valid.ordinal == 1
    assert (opened.best, opened.baseline, opened.baseline_valid) == (None, None, None)
    assert (second.baseline.status, second.baseline_valid.metric, second.best.ordinal) == (
        "crash",
        11,
        12,
    )


@pytest.mark.parametrize(
    "state", ["nan", "infinite", "missing", "not_a_number"], ids=lambda state: f"first_is_{state}"
)
def test_a_first_run_without_a_number_is_the_baseline_and_never_the_valid_one(dict_ledger, state):
    value = {"nan": math.nan, "infinite": math.inf, "missing": None, "not_a_number": "9"}[state]
    ledger = dict_ledger()

    ledger.add(record_of(("run", "keep", value)))
    ledger.add(record_of(("run", "keep", 5)))

    segment = ledger.current()
    assert (segment.baseline.ordinal, segment.baseline.metric) == (1, None)
    assert segment.baseline_valid.ordinal == segment.best.ordinal == 2


def test_each_record_touches_few_index_entries_whatever_the_history(dict_ledger):
    ledger = dict_ledger()
    sizes = []

    for _ in range(300):
        ledger.add(record_of(("run", "keep", 1)))
        sizes.append(max(map(len, ledger.index.values())))

    assert len(ledger.index) == 2 + 300
    assert sizes[-1] - sizes[9] < 50


@pytest.mark.parametrize(
    "record",
    [
        {"stream": "events", "type": "status_changed"},
        {"stream": "events", "type": "status_changed", "payload": None},
        {"stream": "events", "type": "status_changed", "payload": ["archived"]},
        {"stream": "events", "type": "status_changed", "payload": {"to": "gone"}},
        {"stream": "events", "type": "status_changed", "payload": {"to": ["active"]}},
        {"stream": "events", "type": "log_read"},
        {"stream": "events", "type": "log_read", "payload": {"source": "a"}},
        {"stream": "events", "type": "log_read", "payload": {"source": "a", "reached": {"x": 1}}},
        {"stream": "events", "type": "log_read", "payload": {"source": 1, "reached": None}},
        {"stream": "events", "type": "note", "payload": {}},
        {"stream": "records", "type": "hook", "segment": 1},
        {"stream": "records", "type": "patch", "segment": 1, "target_seq": 1},
        {"stream": "papers"},
    ],
)
def test_a_record_that_tells_nothing_of_runs_changes_nothing(dict_ledger, record):
    ledger = dict_ledger()
    ledger.add(record_of(("run", "keep", 1)))
    before = dict(ledger.index)

    ledger.apply(record)

    assert ledger.index == before


def test_two_configs_after_a_run_leave_an_empty_segment(dict_ledger):
    ledger = dict_ledger()

    for step in [("run", "keep", 1), ("config", "a", None), ("config", "b", "maximize")]:
        ledger.add(record_of(step))

    assert [ledger.segment(number).runs for number in (1, 2, 3)] == [1, 0, 0]
    assert ledger.current().definition.metric_name == "b"


def test_configs_before_any_run_amend_the_first_segment(dict_ledger):
    ledger = dict_ledger()

    for config in itertools.product(["config"], ["a", "b"], ["maximize", None]):
        ledger.add(record_of(config))

    assert ledger.state().segment == 1
    assert ledger.current().definition.metric_name == "b"
    assert ledger.current().definition.direction == "maximize"
