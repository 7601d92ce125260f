"""Whatever a session holds, it comes back through pi's log and through Fusion's rows."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varvite
from varvite.adapters.pi_log import PiLog

KEYS = st.sampled_from(
    ["type", "run", "metric", "status", "segment", "varvite", "asi", "kind", "config", "name", "x"]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "keep", "config", "\u2028é\U0001f600", "\x00\x7f"]),
    st.just({"payload": {"status": "keep"}, "status": "crash", "metric_state": "nan"}),
    st.just([1, {"a": None}]),
)
PAYLOADS = st.one_of(st.none(), st.dictionaries(KEYS, VALUES, max_size=4))
STATUSES = st.sampled_from(
    ["keep", "keep", "discard", "crash", "checks_failed", "errored", "pending", "confirm"]
)
METRICS = st.one_of(
    st.none(), st.integers(-3, 3), st.floats(), st.sampled_from([-0.0, 1e308, "text", True])
)
STEPS = st.one_of(
    st.tuples(
        st.just("run"),
        STATUSES,
        METRICS,
        PAYLOADS,
        st.dictionaries(st.sampled_from(["kb", "run", "µs"]), st.floats(-1e9, 1e9), max_size=2),
    ),
    st.tuples(st.just("config"), st.sampled_from(["minimize", "maximize"]), PAYLOADS),
    st.tuples(st.sampled_from(["hook", "finalize"]), PAYLOADS),
    st.tuples(st.just("patch"), st.integers(0, 9), st.dictionaries(KEYS, VALUES, min_size=1)),
)


def play(session, steps):
    for number, (kind, *rest) in enumerate(steps):
        if kind == "run":
            status, metric, payload, metrics = rest
            record = {"status": status, "metric": metric, "payload": payload, "metrics": metrics}
            session.append_record({"type": "run", "description": f"d{number}", **record})
        elif kind == "config":
            session.start_new_segment(varvite.Metric(f"m{number}", "u", rest[0]), payload=rest[1])
        elif kind != "patch":
            session.append_record({"type": kind, "payload": rest[0]})
        elif kept := session.kept():
            session.update_record_payload(kept[rest[0] % len(kept)].id, rest[1])


def facts(session):
    """What counts: of each segment, and of the session."""
    found = [session.segment(number) for number in range(1, session.state().segment + 1)]
    return [
        (
            one.runs,
            one.definition,
            one.statuses,
            *((run.ordinal, run.metric, run.status) if run else None
              for run in (one.baseline, one.baseline_valid, one.best)),
        )
        for one in found
        if one
    ], [(run.ordinal, run.metric) for run in session.kept()]  # fmt: skip


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=14))
def test_what_counts_is_the_same_behind_pis_log(steps):
    with tempfile.TemporaryDirectory() as folder:
        store, log = varvite.open(f"{folder}/store"), Path(folder, "log.jsonl")
        with store.experiment("a", create=True, level="fast") as session:
            play(session, steps)
            wanted = facts(session)
        store.export("a", "pi", log)

        with store.experiment("b", create=True, level="fast") as session:
            report = session.import_log(PiLog(log))
            found = facts(session)
        store.export("b", "pi", f"{folder}/again")

        assert found == wanted
        assert report.quarantined == []
        assert Path(folder, "again").read_bytes() == log.read_bytes()


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, max_size=10))
def test_rows_that_went_to_fusion_and_came_back_go_there_again_as_they_are(steps):
    with tempfile.TemporaryDirectory() as folder:
        store, rows = varvite.open(f"{folder}/store"), Path(folder, "rows.jsonl")
        with store.experiment("a", create=True, level="fast") as session:
            play(session, steps)
        store.export("a", "fusion", rows)
        store.export("a", "fusion", f"{folder}/a.db")

        (report,) = store.import_fusion(f"{folder}/a.db", "b")
        store.export("b", "fusion", f"{folder}/again.jsonl")

        assert report.report.quarantined == []
        assert report.dangling == []
        assert Path(folder, "again.jsonl").read_bytes() == rows.read_bytes()
