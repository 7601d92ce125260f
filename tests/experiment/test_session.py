import json

import pytest

from varvite.errors import InvalidRecordError, StateConflictError
from varvite.experiment.session import ExperimentSession, Metric
from varvite.records.contracts import CONTRACTS, stream_columns


def run(status, metric, **more):
    return {"type": "run", "status": status, "metric": metric} | more


def lines(tmp_path, stream="records"):
    text = (tmp_path / "sort-speed" / f"{stream}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_session_knows_best_baselines_and_kept_after_it_is_opened_again(open_session):
    session = open_session()
    session.start(Metric("total_ms", "ms", "minimize"), name="sort speed", max_iterations=9)
    for outcome in [("crash", None), ("keep", 10.0), ("discard", 4), ("keep", 8), ("keep", 8.0)]:
        session.append_record(run(*outcome))
    session._writer.close()

    session = open_session()

    assert session.baseline().status == "crash"
    assert (session.baseline_valid().ordinal, session.best().ordinal) == (2, 4)
    assert [entry.ordinal for entry in session.kept()] == [2, 4, 5]
    assert session.state().statuses == {"crash": 1, "keep": 3, "discard": 1}
    assert session.state().definition.metric_unit == "ms"


def test_a_new_segment_has_its_own_metric_and_pointers_and_the_kept_go_on(open_session):
    session = open_session()
    session.start(Metric("total_ms"), name="sort speed")
    session.append_record(run("keep", 10))
    session.start(Metric("score", direction="maximize"))
    empty = session.segment()
    session.append_records([run("keep", 1), run("keep", 3), run("keep", 2)])

    assert (empty.segment, empty.best, empty.baseline) == (2, None, None)
    assert (session.best().metric, session.best(1).metric) == (3, 10)
    assert [(entry.segment, entry.ordinal) for entry in session.kept()] == [
        (1, 1),
        (2, 2),
        (2, 3),
        (2, 4),
    ]
    assert session.state().definition.name == "sort speed"


@pytest.mark.parametrize(
    ("value", "metric", "state"),
    [
        (3, 3.0, "finite"),
        (-0.5, -0.5, "finite"),
        (float("nan"), None, "nan"),
        (float("-inf"), None, "infinite"),
        (10**400, None, "infinite"),
        (None, None, "missing"),
        ("12", None, "not_a_number"),
        (True, None, "not_a_number"),
    ],
)
def test_a_metric_that_is_no_number_is_null_and_says_why(
    open_session, tmp_path, value, metric, state
):
    session = open_session()

    session.append_record(run("keep", value))

    stored = lines(tmp_path)[0]
    assert (stored["metric"], stored["metric_state"]) == (metric, state)
    assert (stored["segment"], stored["ordinal"], stored["status"]) == (1, 1, "keep")
    assert (session.best() is None) == (metric is None)


@pytest.mark.parametrize(
    ("record", "path"),
    [
        ({"type": "patch", "target_seq": 1}, "records[0].type"),
        ({}, "records[0].type"),
        ({"type": ["run"]}, "records[0].type"),
        (run("kept?", 1), "records[0].status"),
        (run(None, 1), "records[0].status"),
        (run("unknown", 1), "records[0].status"),
        (run("keep", 1, segment=99), "records[0].segment"),
        (run("keep", 1, ordinal=7), "records[0].ordinal"),
        (run("keep", 1, id="x"), "records[0].id"),
        (run("keep", 1, source="log"), "records[0].source"),
        (run("keep", 1, metrics={"a": float("nan")}), "records[0].metrics.a"),
        ({"type": "config", "direction": "lower"}, "records[0].direction"),
    ],
)
def test_a_record_that_is_not_right_is_refused_with_its_path(open_session, record, path):
    session = open_session()

    with pytest.raises(Exception, match=r"records\[0\]") as caught:
        session.append_record(record)

    assert caught.value.path == path
    assert session.cursor == 0


def test_a_metric_has_one_of_two_directions():
    with pytest.raises(InvalidRecordError):
        Metric("ms", direction="lower")


def test_the_same_key_appends_once(open_session):
    session = open_session()

    first = session.append_record(run("keep", 1), key="run-1")
    again = session.append_record(run("keep", 1), key="run-1")

    assert (again.replayed, again.cursor, session.state().runs) == (True, first.cursor, 1)


def test_an_append_between_reading_the_state_and_committing_is_not_overwritten(open_session):
    session = open_session()
    other = ExperimentSession(session._writer)
    read = session._read

    def read_while_another_appends(table, key):
        value = read(table, key)
        session._read = read
        other.append_record(run("keep", 5))
        return value

    session._read = read_while_another_appends

    with pytest.raises(StateConflictError):
        session.append_record(run("keep", 1))

    assert session.state().runs == 1


def test_an_index_that_fell_behind_is_caught_up_before_it_is_asked(open_session, monkeypatch):
    session = open_session()
    session.start(Metric("ms"))
    with monkeypatch.context() as patch:
        patch.setattr(session._writer.index, "apply", lambda *_: 1 / 0)
        session.append_record(run("keep", 3))

    best = session.best()
    session.append_record(run("keep", 2))

    assert (best.ordinal, best.metric) == (1, 3)
    assert [entry.ordinal for entry in session.kept()] == [1, 2]


def test_every_field_that_is_written_has_a_column(open_session, tmp_path):
    session = open_session()
    session.start(Metric("ms"))
    session.append_record(run("keep", 1, commit="abc", description="d", metrics={"a": 1}))

    fields = {name for line in lines(tmp_path) for name in line}

    assert fields <= set(stream_columns("records"))
    assert {"records", "quarantine"} <= set(CONTRACTS)
