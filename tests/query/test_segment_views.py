"""What the views say of each segment, against plain Python over its runs."""

import json
import math
import statistics
import tempfile
from itertools import groupby

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varvite
from varvite.experiment.confidence import confidence_pi
from varvite.experiment.session import Metric
from varvite.experiment.statistics import METRIC_MAX, bootstrap_interval, evidence, noise_floor
from varvite.query.snapshot import Snapshot

PLATEAU_RUNS = 10
MEASURED = ("keep", "discard", "confirm", "pending")
METRICS = st.one_of(
    st.sampled_from([0.0, -0.0, -1.0, 1e300, None, float("nan"), float("inf")]),
    st.integers(-3, 12).map(float),
)
RUNS = st.tuples(
    st.sampled_from(["keep", "keep", "discard", "confirm", "pending", "crash", "errored"]),
    METRICS,
    st.sampled_from([None, None, "c1", "c2"]),
    st.one_of(st.none(), st.lists(st.integers(-2, 9).map(float), max_size=3)),
)
SEGMENTS = st.lists(
    st.tuples(st.sampled_from(["minimize", "maximize"]), st.lists(RUNS, min_size=1, max_size=16)),
    min_size=1,
    max_size=3,
)


def fill(session, segments):
    for direction, runs in segments:
        session.start(Metric("m", "", direction))
        session.append_records([record(*one) for one in runs])


def record(status, metric, code=None, replicates=None):
    payload = {"code": code, "replicates": replicates}
    told = {key: value for key, value in payload.items() if value is not None}
    return {"type": "run", "status": status, "metric": metric, "payload": told or None}


def segments_of(snapshot):
    """The runs that count by session and segment, in order."""
    rows = snapshot.ask("from runs where counts order by session_uid, segment, seq").dicts()
    for row in rows:
        row["payload"] = json.loads(row["payload"] or "{}")
    return [
        list(runs) for _, runs in groupby(rows, lambda row: (row["session_uid"], row["segment"]))
    ]


def key(run):
    return run["session_uid"], run["segment"]


def cost(run):
    return -run["metric"] if run["direction"] == "maximize" else run["metric"]


def finite(run):
    return run["metric"] is not None and math.isfinite(run["metric"])


def squares(run):
    return finite(run) and abs(run["metric"]) < METRIC_MAX


def improvements(runs):
    """(place, run, the best before it), for each run that became the best."""
    best = None
    for place, run in enumerate(runs, 1):
        if run["kept"] and finite(run) and (best is None or cost(run) < cost(best)):
            yield place, run, best
            best = run


def history(runs):
    return [
        (*key(run), run["seq"], place, before and before["metric"])
        for place, run, before in improvements(runs)
    ]


def plateaus(runs):
    marks = [0, *(place for place, _, _ in improvements(runs)), len(runs) + 1]
    bests = [None, *(run for _, run, _ in improvements(runs))]
    for best, begin, end in zip(bests, marks, marks[1:], strict=False):
        stretch = runs[begin : end - 1]
        if len(stretch) >= PLATEAU_RUNS:
            yield (
                *key(runs[0]),
                best and best["id"],
                stretch[0]["ordinal"],
                stretch[-1]["ordinal"],
                len(stretch),
                end == len(runs) + 1,
            )


def tries(runs):
    """The tries, and the metrics by code, of a segment."""
    measured = [run for run in runs if squares(run) and run["status"] in MEASURED]
    codes, tried = {}, []
    for run in measured:
        code = run["payload"].get("code")
        again = code is not None and code in codes
        if code is not None:
            codes.setdefault(code, []).append(run["metric"])
        first = run["status"] == "keep" and not tried
        if first or (tried and not again and run["status"] in ("keep", "discard")):
            tried.append(run)
    return tried, codes, measured


def floor(codes, measured):
    by_runs = noise_floor(list(codes.values()))
    if by_runs:
        return by_runs, "runs"
    replicates = noise_floor([run["payload"].get("replicates") or [] for run in measured])
    return replicates, replicates and "replicates"


def verdict(runs):
    """What `evidence` must say of a segment."""
    tried, codes, measured = tries(runs)
    noise, source = floor(codes, measured)
    bests = [run for _, run, _ in improvements(runs)]
    pi_runs = [(run["metric"] or 0.0, as_pi(run["status"])) for run in runs]
    told = {"confidence_pi": confidence_pi(pi_runs, runs[0]["direction"]), "noise_from": source}
    told |= {"noise_width": noise and noise.width, "noise_degrees": noise and noise.degrees}
    if not bests:
        return told | {"tries": 0, "p": None, "likely_real": False, "interval": (None, None)}
    found = evidence(
        [run["metric"] for run in tried],
        runs[0]["direction"],
        noise=noise,
        best=bests[-1]["metric"],
        baseline=codes.get(tried[0]["payload"].get("code"), []) if tried else [],
    )
    first, best = (values(run, codes) for run in (bests[0], bests[-1]))
    interval = bootstrap_interval(first, best) if len(bests) > 1 else None
    told |= {"tries": len(tried), "p": found.p, "likely_real": found.likely_real}
    return told | {"interval": interval or (None, None)} | found.tests


def values(run, codes):
    if not squares(run):
        return []
    own = run["payload"].get("replicates") or []
    return own if len(own) > 1 else codes.get(run["payload"].get("code"), [])


def as_pi(status):
    return "keep" if status in ("keep", "unknown", None) else status


def assert_as_recomputed(store):
    with store._folder() as folder, Snapshot(folder) as snapshot:
        return _assert_as_recomputed(snapshot)


def _assert_as_recomputed(snapshot):
    segments = segments_of(snapshot)
    found = snapshot.ask("select session_uid, segment, seq, place, before from best_history").rows()
    assert sorted(found) == sorted(row for runs in segments for row in history(runs))
    found = snapshot.ask(
        "select session_uid, segment, after_id, first_ordinal, last_ordinal, runs, goes_on"
        " from plateaus"
    ).rows()
    wanted = [row for runs in segments for row in plateaus(runs)]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    found = snapshot.ask("from evidence")
    rows = {(row["session_uid"], row["segment"]): row for row in found.dicts()}
    assert len(rows) == len(segments)
    for runs in segments:
        assert_verdict(rows[key(runs[0])], verdict(runs))
    return rows


def near(one, other):
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-12)


def assert_verdict(row, wanted):
    for name in ("tries", "noise_degrees", "noise_from", "likely_real"):
        assert row[name] == wanted[name], (name, row, wanted)
    for name in ("noise_width", "confidence_pi"):
        assert near(row[name], wanted[name]), (name, row, wanted)
    assert (row["interval_low"], row["interval_high"]) == wanted["interval"], (row, wanted)
    assert row["p"] == wanted["p"]
    for test in ("calibrated", "rank", "gain", "shift"):
        assert row[f"p_{test}"] == wanted.get(test), (test, row, wanted)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(SEGMENTS, st.booleans())
def test_the_views_say_of_any_segments_what_plain_python_says(made, compacted):
    with tempfile.TemporaryDirectory() as folder:
        store = varvite.open(folder)
        with store.experiment("s", create=True, level="fast") as session:
            fill(session, made)
        if compacted:
            store.compact()

        assert_as_recomputed(store)


def test_the_views_say_of_every_real_log_what_plain_python_says(real_logs):
    rows = assert_as_recomputed(real_logs.together())

    scored = [row for row in rows.values() if row["confidence_pi"] is not None]
    likely = [row for row in rows.values() if row["likely_real"]]
    assert len(scored) >= 50
    assert 0 < len(likely) < len([row for row in scored if row["confidence_pi"] >= 2])


def test_pis_confidence_is_that_of_pis_own_code_for_every_segment(real_logs, shared):
    expected = json.loads((shared / "data/experiments/expected.json").read_text())["files"]
    found = real_logs.together().sql("select session_id, segment, confidence_pi from evidence")
    ours = {(name, segment): value for name, segment, value in found.rows()}
    compared = 0

    for file, entry in expected.items():
        name = file.removesuffix(".jsonl").lower().replace(".", "-")
        for segment in entry["segments"] if entry["set"] == "strict" else []:
            value = ours.get((name, segment["segment"] + 1))
            assert near(value, segment["confidence"]), (file, segment)
            compared += value is not None

    assert compared >= 30


def test_a_moment_shows_the_evidence_of_then(tmp_path):
    store = varvite.open(tmp_path)
    with store.experiment("s", create=True) as session:
        cursors = [
            session.append_record(record("keep", value)).cursor
            for value in (10.0, 9.0, 8.0, 7.0, 3.0)
        ]

    found = [store.sql("select tries, p from evidence", as_of=cursor).rows() for cursor in cursors]

    wanted = [evidence([10.0, 9.0, 8.0, 7.0, 3.0][: n + 1], "minimize").p for n in range(5)]
    assert found == [[(n + 1, p)] for n, p in enumerate(wanted)]


def test_the_ledger_of_kept_runs_has_those_that_were_put_there(tmp_path):
    store = varvite.open(tmp_path)
    with store.experiment("s", create=True) as session:
        for status, metric in (("keep", 5.0), ("discard", 4.0), ("keep", 3.0)):
            session.append_record(record(status, metric))
        runs = [row[0] for row in store.sql("select id from runs order by seq").rows()]
        session.record_kept(runs[1])
        kept = [run.id for run in session.kept()]

    found = store.sql("select id, valid_gain, is_best from kept_runs order by place").rows()

    assert [row[0] for row in found] == kept == [runs[0], runs[2], runs[1]]
    assert [row[1:] for row in found] == [(0.0, False), (2.0, True), (1.0, False)]


def test_segments_compare_where_benchmark_environment_and_metric_are_the_same(tmp_path):
    store = varvite.open(tmp_path)
    same = {"benchmark_hash": "b", "environment": "e"}
    for name, told, metric, value in [
        ("a", same | {"seed": 3}, Metric("m"), 5.0),
        ("b", same, Metric("m"), 4.0),
        ("c", same, Metric("m", "", "maximize"), 4.0),
        ("d", {"benchmark_hash": "b", "environment": "other"}, Metric("m"), 1.0),
        ("e", {"benchmark_hash": "b"}, Metric("m"), 1.0),
    ]:
        with store.experiment(name, create=True) as session:
            session.start(metric, **told)
            session.append_record(record("keep", value))
    with store.experiment("a") as session:
        session.start(Metric("m"), environment="other")
        session.append_record(record("crash", None))

    found = store.sql(
        "select session_id, segment, environment, seed, place, sessions from comparable_sessions"
        " order by session_id, segment"
    ).rows()

    assert found == [
        ("a", 1, "e", "3", 2, 2),
        ("a", 2, "other", "3", 2, 2),
        ("b", 1, "e", None, 1, 2),
        ("c", 1, "e", None, 1, 1),
        ("d", 1, "other", None, 1, 2),
    ]


def test_runs_that_measured_the_same_code_are_noise_and_no_tries(tmp_path):
    store = varvite.open(tmp_path)
    same = [10.0, 11.0, 9.5, 10.5]
    with store.experiment("s", create=True) as session:
        for number, value in enumerate(same):
            session.append_record(record("confirm" if number else "keep", value, "c0"))
        session.append_record(record("keep", 4.0, "c1"))

    (row,) = store.sql("from evidence").dicts()

    assert (row["tries"], row["noise_from"], row["noise_degrees"]) == (2, "runs", 3)
    assert row["noise_width"] == pytest.approx(statistics.stdev(same))
