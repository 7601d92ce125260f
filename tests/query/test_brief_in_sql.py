"""A brief is told from a bounded index, and says what SQL says of all records."""

import json
import math
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varvite
from varvite.experiment.session import Metric
from varvite.query.snapshot import Snapshot

TEXTS = st.lists(st.sampled_from(("merge", "Sort", "skip", "the", "tail", "ß")), max_size=6)
SHORT = st.sampled_from([None, None, "Input is random", "input: IS random!", "it fits"])
CODES = st.sampled_from([None, None, "c1", "c2", "c3", 4])
METRICS = st.one_of(
    st.sampled_from([0.0, -1.5, 1e300, None, float("nan")]), st.integers(-3, 30).map(float)
)
STATUSES = st.sampled_from(["keep", "keep", "discard", "discard", "confirm", "crash"])
REPLICATES = st.one_of(
    st.none(), st.lists(st.sampled_from([-2.0, 0.0, 3.0, 9.0, 1e200]), max_size=3)
)
RUN = st.builds(
    lambda status, metric, words, change, code, replicates, assumption, overturns: {
        "type": "run",
        "status": status,
        "metric": metric,
        "description": " ".join(words),
        "payload": {
            "change": change,
            "code": code,
            "replicates": replicates,
            "asi": {"assumption": assumption, "overturns": overturns},
        },
    },
    STATUSES,
    METRICS,
    TEXTS,
    st.sampled_from([None, None, "x", "y", 7]),
    CODES,
    REPLICATES,
    SHORT,
    SHORT,
)
CONFIG = st.builds(lambda direction: direction, st.sampled_from(["minimize", "maximize"]))
STEPS = st.lists(st.one_of(RUN, RUN, RUN, RUN, RUN, CONFIG), min_size=1, max_size=45)

DEAD = "select ordinal, status, alike_in, of_ordinal, of_status, of_metric from dead_ends"
OVERTURNED = """
    select ordinal, assumption, overturned_by, keep_ordinal, keep_metric from overturned_discards
"""
SINCE_BEST = """
    select count(*) - coalesce(max(h.place), 0) as since_best
    from runs as r
    left join best_history as h on r.session_uid = h.session_uid and r.seq = h.seq
    where r.counts and r.segment = $segment
"""
PLATEAU = "select count(*) from plateaus where goes_on and segment = $segment"
EVIDENCE = """
    select tries, noise_width, noise_degrees, noise_from, p, likely_real, best_id
    from evidence where segment = $segment
"""


def play(session, steps):
    for step in steps:
        if isinstance(step, str):
            session.start(Metric("m", "", step))
        else:
            session.append_record(step)


def assert_as_in_sql(brief, snapshot):
    at = {"segment": brief["segment"]}
    assert brief["dead_ends"] == snapshot.ask(f"{DEAD} order by seq").dicts()
    assert brief["overturned"] == snapshot.ask(f"{OVERTURNED} order by seq").dicts()
    assert brief["since_best"] == snapshot.ask(SINCE_BEST, at).rows()[0][0]
    assert brief["plateau"] == bool(snapshot.ask(PLATEAU, at).rows()[0][0])
    assert_evidence(brief["evidence"], snapshot.ask(EVIDENCE, at).dicts())


def assert_evidence(told, rows):
    if not rows or rows[0]["best_id"] is None:
        assert told is None
        return
    for name in ("tries", "noise_degrees", "noise_from"):
        assert told[name] == rows[0][name], (told, rows)
    assert near(told["noise_width"], rows[0]["noise_width"], 1e-9), (told, rows)
    if told["ask"] is None:
        assert near(told["p"], rows[0]["p"], 5e-3), (told, rows)


def near(one, other, most):
    return one is other or math.isclose(one, other, rel_tol=most, abs_tol=most)


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_a_brief_of_any_session_says_what_sql_says(steps):
    with tempfile.TemporaryDirectory() as folder:
        store = varvite.open(folder)
        with store.experiment("s", create=True, level="fast") as session:
            play(session, steps)
            brief = session.brief()

        with store._folder() as lake, Snapshot(lake) as snapshot:
            assert_as_in_sql(brief, snapshot)


def test_a_brief_of_every_real_log_of_fifty_runs_says_what_sql_says(real_logs):
    compared = 0

    for name in real_logs.names[::9]:
        store = real_logs.alone(name)
        with store.experiment(name) as session:
            brief = session.brief()
        if brief["runs"] <= 50:
            with store._folder() as lake, Snapshot(lake) as snapshot:
                assert_as_in_sql(brief, snapshot)
            compared += 1

    assert compared >= 3


def test_a_brief_of_more_runs_than_it_reads_sends_to_sql_unless_the_noise_is_known(tmp_path):
    store = varvite.open(tmp_path)
    run = {"type": "run", "status": "keep", "description": "Make it faster"}
    with store.experiment("s", create=True, level="fast") as session:
        session.append_records([run | {"metric": 100.0 - number} for number in range(60)])
        unknown = session.brief()
        for value in (41.0, 40.5, 41.5):
            session.append_record(run | {"metric": value, "payload": {"code": "same"}})
        known = session.brief()
        (row,) = store.sql("from evidence").dicts()

    assert (unknown["evidence"]["p"], unknown["evidence"]["ask"]) == (
        None,
        "select * from evidence",
    )
    assert known["evidence"]["ask"] is None
    assert known["evidence"]["likely_real"] is row["likely_real"] is True
    assert known["evidence"]["tries"] == row["tries"] == 61
    assert near(known["evidence"]["p"], row["p"], 1e-9)
    assert near(known["evidence"]["noise_width"], row["noise_width"], 1e-12)
    assert known["evidence"]["noise_degrees"] == row["noise_degrees"] == 2


def test_a_brief_has_a_description_as_it_was_patched(tmp_path):
    store = varvite.open(tmp_path)
    with store.experiment("s", create=True) as session:
        for text in ("Unroll the inner loop", "Something else"):
            session.append_record({"type": "run", "status": "discard", "description": text})
        second = store.sql("select id from runs where ordinal = 2").rows()[0][0]
        session.update_record_payload(second, {"description": "Unroll the inner LOOP"})
        brief = session.brief()

    assert [run["description"] for run in brief["recent"]][1] == "Unroll the inner LOOP"
    assert [one["of_ordinal"] for one in brief["dead_ends"]] == [1]
    assert store.sql("select of_ordinal from dead_ends").rows() == [(1,)]


@pytest.mark.parametrize("runs", [0, 1, 60])
def test_a_brief_is_json_of_bounded_size(tmp_path, runs):
    store = varvite.open(tmp_path)
    run = {"type": "run", "status": "discard", "metric": 1.0, "description": "x y z " * 400}
    with store.experiment("s", create=True, level="fast") as session:
        session.append_records([run] * runs) if runs else None
        brief = session.brief()

    assert len(json.dumps(brief)) < 60_000
    assert len(brief["dead_ends"]) == max(0, min(runs, 50) - 1)
