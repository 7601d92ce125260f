"""Best, baselines and kept runs in SQL, against the index that an open session answers from."""

import json
import tempfile
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varvite
from varvite.adapters.pi_log import PiLog
from varvite.experiment.session import Metric
from varvite.query.snapshot import Snapshot
from varvite.samples import experiments

RUNS = """
    select session_id, segment, seq, id, ordinal, status, metric, run_logged, kept, counts
    from runs order by session_uid, seq
"""
STATUSES = ("keep", "discard", "crash", "checks_failed")


def pointer(run):
    return (run.id, run.ordinal, run.metric) if run else (None, None, None)


def of_the_index(session):
    """What `best_runs` must say of a session, by segment; segments without runs are not there."""
    first = first_counted(session)
    segments = [session.segment(number) for number in range(first, session.state().segment + 1)]
    return {
        segment.segment: {
            "metric_name": segment.definition.metric_name,
            "metric_unit": segment.definition.metric_unit,
            "direction": segment.definition.direction,
            "runs": segment.runs,
            "kept": segment.statuses.get("keep", 0),
            "best": (*pointer(segment.best), getattr(segment.best, "run_logged", None)),
            "baseline": (*pointer(segment.baseline), getattr(segment.baseline, "status", None)),
            "baseline_valid": pointer(segment.baseline_valid),
        }
        for segment in segments
        if segment and segment.runs
    }


def first_counted(session):
    """The first segment of the log's newest generation: the runs since then are those that count."""
    left, number = session.state().runs, session.state().segment
    while left and number:
        found = session.segment(number)
        left -= found.runs if found else 0
        number -= 1
    return number + 1 if session.state().runs else session.state().segment


def of_sql(store):
    """The rows of `best_runs` in the same words, by session and segment."""
    return of_rows(store.sql("from best_runs").dicts())


def of_rows(rows):
    found = {}
    for row in rows:
        found.setdefault(row["session_id"], {})[row["segment"]] = {
            name: row[name] for name in ("metric_name", "metric_unit", "direction", "runs", "kept")
        } | {
            "best": fields(row, "best", "id", "ordinal", "metric", "run_logged"),
            "baseline": fields(row, "baseline", "id", "ordinal", "metric", "status"),
            "baseline_valid": fields(row, "baseline_valid", "id", "ordinal", "metric"),
        }
    return found


def fields(row, prefix, *names):
    return tuple(row[f"{prefix}_{name}"] for name in names)


def assert_as_the_index(session, segments, row):
    """Hold a session's rows of `best_runs` and its row of `experiment_sessions` to its index."""
    state, segment = session.state(), session.segment()
    assert segments == of_the_index(session)
    assert json.loads(row["keptRunIds"]) == [run.id for run in session.kept()]
    assert row["currentSegment"] == state.segment
    assert row["status"] == state.status
    assert row["baselineRunId"] == (segment.baseline.id if segment and segment.baseline else None)
    assert row["bestRunId"] == (segment.best.id if segment and segment.best else None)
    assert json.loads(row["metric"]) == {
        "name": state.definition.metric_name,
        "unit": state.definition.metric_unit,
        "direction": state.definition.direction,
    }


def import_all(store, files):
    sessions = {}
    for file in files:
        name = file.stem.lower().replace(".", "-")
        sessions[name] = store.experiment(name, create=True, level="fast")
        sessions[name].import_log(PiLog(file))
    return sessions


@pytest.fixture(scope="module")
def real(shared, tmp_path_factory):
    """All real logs in one store, their sessions open, and what is expected of them."""
    folder = shared / "data" / "experiments"
    expected = json.loads((folder / "expected.json").read_text())["files"]
    store = varvite.open(tmp_path_factory.mktemp("real"))
    sessions = import_all(store, [folder / "autoresearch" / name for name in expected])
    by_name = {
        name.removesuffix(".jsonl").lower().replace(".", "-"): entry
        for name, entry in expected.items()
    }
    yield store, sessions, by_name
    for session in sessions.values():
        session.close()


@pytest.mark.parametrize("compacted", [False, True])
def test_sql_over_all_real_logs_in_one_store_says_what_their_indexes_say(real, compacted):
    store, sessions, expected = real
    if compacted:
        store.compact()

    found = of_sql(store)
    rows = {row["id"]: row for row in store.sql("from experiment_sessions").dicts()}

    assert len(sessions) == len(expected) == len(rows) >= 52
    for session in sessions.values():
        assert_as_the_index(session, found.get(session.id, {}), rows[session.id])


def test_sql_over_the_strict_logs_says_what_was_expected_of_them(real):
    store, _, expected = real
    strict = {name: entry for name, entry in expected.items() if entry["set"] == "strict"}

    best = {(row["session_id"], row["segment"]): row for row in store.sql("from best_runs").dicts()}
    sessions = {row["id"]: row for row in store.sql("from experiment_sessions").dicts()}
    runs = {}
    for row in store.sql(RUNS).dicts():
        runs.setdefault((row["session_id"], row["segment"]), []).append(row)

    assert len(strict) >= 33
    for name, entry in strict.items():
        assert sessions[name]["currentSegment"] == entry["final"]["current_segment"] + 1
        assert sessions[name]["name"] == (entry["final"]["name"] or name)
        for segment in entry["segments"]:
            key = (name, segment["segment"] + 1)
            assert_segment(best.get(key), runs.get(key, []), segment)


def assert_segment(row, runs, expected):
    assert len(runs) == expected["runs"]
    for status in STATUSES:
        assert [run["status"] for run in runs].count(status) == expected["status"][status]
    kept = [run for run in runs if run["kept"]]
    assert [run["ordinal"] for run in kept] == expected["kept_ordinals"]
    assert [run["run_logged"] for run in kept] == expected["kept_runs"]
    if not runs:
        assert (row, expected["baseline"], expected["best"]) == (None, None, None)
        return
    assert row["metric_name"] == expected["metric_name"]
    assert row["metric_unit"] == expected["metric_unit"]
    assert row["direction"] == {"lower": "minimize", "higher": "maximize"}[expected["direction"]]
    assert row["baseline_metric"] == expected["baseline_metric"]
    assert (row["baseline_ordinal"], row["baseline_status"]) == (
        expected["baseline"]["ordinal"],
        expected["baseline"]["status"],
    )
    best = expected["best"] or {"ordinal": None, "run": None, "metric": None}
    assert (row["best_ordinal"], row["best_run_logged"], row["best_metric"]) == (
        best["ordinal"],
        best["run"],
        best["metric"],
    )


values = st.one_of(
    st.sampled_from([0.0, -0.0, 1, 1.0, -1, 2**53, 2**53 + 1, 5e-324, 1e308, -1e308, 22.7]),
    st.sampled_from([float("nan"), float("inf"), float("-inf"), None, "9", True, [], 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),
)
statuses = st.sampled_from(["keep", "keep", "keep", *STATUSES, "errored", "pending", "confirm"])
runs = st.tuples(st.just("run"), statuses, values)
configs = st.tuples(
    st.just("config"), st.sampled_from(["ms", "x"]), st.sampled_from(["minimize", "maximize"])
)
steps = st.lists(st.one_of(runs, runs, runs, configs, st.just(("hook",))), max_size=14)
own = st.tuples(st.just("own"), steps)
cuts = st.integers(0, 14)
followed = st.tuples(st.just("followed"), steps, cuts, st.one_of(st.none(), steps), st.booleans())


def play(session, given):
    for what, *rest in given:
        if what == "run":
            status, metric = rest
            session.append_record({"type": "run", "status": status, "metric": metric})
        elif what == "config":
            session.start(Metric(rest[0], "", rest[1]))
        else:
            session.append_record({"type": "hook", "payload": {"name": "between"}})


def pi_line(number, what, *rest):
    """A step as a line of a pi log: NaN and Infinity are then literals, which no JSON is."""
    if what == "run":
        line = {"run": number % 5, "status": rest[0], "metric": rest[1], "description": "d"}
    elif what == "config":
        higher = "higher" if rest[1] == "maximize" else "lower"
        line = {"type": "config", "metricName": rest[0], "bestDirection": higher}
    else:
        line = {"type": "hook"}
    return json.dumps(line).encode() + b"\n"


def follow(session, folder, first, cut, second, declared):
    """Import a log in two pieces, and again where it was rewritten."""
    if declared:
        session.start(Metric("declared", "u", "maximize"))
    lines = [pi_line(number, *step) for number, step in enumerate(first)]
    grown = [lines[:cut], lines]
    if second is not None:
        grown.append([pi_line(number, *step) for number, step in enumerate(second)])
    for data in grown:
        (folder / "log.jsonl").write_bytes(b"".join(data))
        session.import_log(PiLog(folder / "log.jsonl"))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(sessions=st.lists(st.one_of(own, followed), min_size=1, max_size=5), compacted=st.booleans())
def test_sql_says_what_the_index_says_of_any_session(sessions, compacted):
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        store = varvite.open(f"{folder}/store")
        handles = []
        for number, (how, *rest) in enumerate(sessions):
            made = store.experiment(f"s{number}", create=True, level="fast")
            handles.append(opened.enter_context(made))
            if how == "own":
                play(handles[-1], *rest)
            else:
                follow(handles[-1], Path(folder), *rest)
            if compacted and number == 0:
                store.compact()

        found = of_sql(store)
        rows = {row["id"]: row for row in store.sql("from experiment_sessions").dicts()}

        for session in handles:
            assert_as_the_index(session, found.get(session.id, {}), rows[session.id])


outcomes = st.sampled_from(["keep", "keep", "keep", "discard", "crash", "confirm"])
crash_of_zero = st.just(("run", "crash", 0.0))
ties = st.sampled_from([("run", "keep", metric) for metric in (3.0, 3.0, -3.0, 0.0)])
any_runs = st.tuples(st.just("run"), outcomes, values)
records = st.one_of(any_runs, any_runs, ties, crash_of_zero, configs, st.just(("hook",)))


def assert_each_record(store, session, add, steps):
    """Hold the index to SQL over all records after every one of them."""
    for number, step in enumerate(steps):
        add(number, step)
        with store._folder() as folder, Snapshot(folder) as snapshot:
            segments = of_rows(snapshot.ask("from best_runs").dicts()).get("s", {})
            (row,) = snapshot.ask("from experiment_sessions").dicts()
        assert_as_the_index(session, segments, row)


def check_own(direction, steps):
    with tempfile.TemporaryDirectory() as folder:
        store = varvite.open(folder)
        metric = Metric("m", "", direction)
        with store.experiment("s", metric=metric, create=True, level="fast") as session:
            assert_each_record(store, session, lambda _, step: play(session, [step]), steps)


def check_followed(steps):
    with tempfile.TemporaryDirectory() as folder:
        store, log = varvite.open(f"{folder}/store"), Path(folder) / "log.jsonl"

        def add(number, step):
            with log.open("ab") as file:
                file.write(pi_line(number, *step))
            session.import_log(PiLog(log))

        with store.experiment("s", create=True, level="fast") as session:
            assert_each_record(store, session, add, steps)


unknown = st.tuples(st.just("run"), st.sampled_from(["keep", "rejected", "kept", ""]), values)
lines = st.one_of(any_runs, unknown, ties, crash_of_zero, configs)
UNHURRIED = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@settings(max_examples=3, **UNHURRIED)
@given(steps=st.lists(records, min_size=1, max_size=9))
def test_after_every_record_the_index_says_what_sql_recomputes(direction, steps):
    check_own(direction, steps)


@settings(max_examples=3, **UNHURRIED)
@given(steps=st.lists(lines, min_size=1, max_size=9))
def test_after_every_line_of_a_log_the_index_says_what_sql_recomputes(steps):
    check_followed(steps)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@settings(max_examples=60, **UNHURRIED)
@given(steps=st.lists(records, min_size=5, max_size=30))
def test_after_every_record_of_many_sessions_the_index_says_what_sql_recomputes(direction, steps):
    check_own(direction, steps)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=60, **UNHURRIED)
@given(steps=st.lists(lines, min_size=5, max_size=30))
def test_after_every_line_of_many_logs_the_index_says_what_sql_recomputes(steps):
    check_followed(steps)


EVERY_CASE = [
    ("run", "crash", 0.0),
    ("run", "keep", float("nan")),
    ("run", "keep", float("inf")),
    ("run", "keep", float("-inf")),
    ("run", "keep", None),
    ("run", "discard", -9.0),
    ("run", "keep", 0.0),
    ("run", "keep", -0.0),
    ("run", "keep", -4.0),
    ("run", "keep", -4.0),
    ("run", "checks_failed", -99.0),
    ("config", "ms", "maximize"),
    ("config", "ms", "minimize"),
    ("config", "x", "maximize"),
    ("run", "crash", 0.0),
    ("run", "keep", 2.0),
    ("run", "keep", 7.0),
    ("run", "keep", 7.0),
]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_after_each_of_the_known_cases_the_index_says_what_sql_recomputes(direction):
    check_own(direction, EVERY_CASE)
    if direction == "minimize":
        check_followed([*EVERY_CASE, ("run", "rejected", 99.0)])


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_zero_and_minus_zero_tie_and_the_earlier_wins(store, direction, first):
    with store.experiment("s", metric=Metric("m", "", direction), create=True) as session:
        for metric in (first, -first, first):
            session.append_record({"type": "run", "status": "keep", "metric": metric})

        (row,) = store.sql("select best_ordinal, best_id from best_runs").rows()
        assert row == (1, session.best().id)


def test_the_runs_of_an_earlier_generation_are_there_and_do_not_count(store, tmp_path):
    log = tmp_path / "log.jsonl"
    lines = list(experiments.log(seed=5, runs=6))
    with store.experiment("s", create=True) as session:
        for data in (lines, lines[:3]):
            log.write_bytes(b"".join(data))
            session.import_log(PiLog(log))

        found = store.sql("select generation, counts, count(*) from runs group by all order by all")
        assert found.rows() == [(1, False, 6), (2, True, 2)]
        assert_as_the_index(
            session, of_sql(store)["s"], store.sql("from experiment_sessions").dicts()[0]
        )


def test_the_moment_of_finalizing_is_the_first_step_there_whatever_the_clock_says(store):
    with store.experiment("s", create=True) as session:
        times = iter(["2026-01-03T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"])
        session._writer._clock = lambda: next(times, "2025-01-01T00:00:00Z")
        session.append_record({"type": "hook"})
        session.transition("finalizing")
        session.transition("finalized")
        session.transition("archived")
        state = session.state()

    (row,) = store.sql("from experiment_sessions").dicts()
    assert (row["status"], row["finalizedAt"].isoformat()) == (
        "archived",
        "2026-01-01T00:00:00+00:00",
    )
    assert row["finalizedAt"] == datetime.fromisoformat(state.finalized_at)
    assert row["updatedAt"].isoformat() == "2025-01-01T00:00:00+00:00"
