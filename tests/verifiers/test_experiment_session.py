"""The experiment session model: one test a rule of it."""

import itertools
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from varvite.errors import (
    InputError,
    InvalidRecordError,
    RecordNotFoundError,
    SessionExistsError,
    SessionNotFoundError,
    SessionStatusError,
)
from varvite.experiment.session import Metric
from varvite.store import Store
from varvite.testing.faulty import ReadSpy

STATES = ("active", "finalizing", "finalized", "archived")
STEPS = {
    "active": [],
    "finalizing": ["finalizing"],
    "finalized": ["finalizing", "finalized"],
    "archived": ["archived"],
}
ALLOWED = {
    ("active", "finalizing"),
    ("active", "archived"),
    ("finalizing", "finalized"),
    ("finalizing", "active"),
    ("finalized", "archived"),
}
METRIC = Metric("total_ms", "ms", "minimize")
APPEND = """
import sys, varvite
store, rounds = varvite.open(sys.argv[1]), int(sys.argv[2])
for number in range(rounds):
    with store.experiment("s", wait_s=120, level="fast") as session:
        session.append_record({"type": "run", "status": "keep", "metric": number})
"""


@pytest.fixture
def experiments(store):
    return store.experiments()


@pytest.fixture
def made(experiments):
    """A session, by the name s."""
    return experiments.create("sort speed", METRIC, session_id="s")


def run(experiments, session_id="s", status="keep", metric=1.0, **more):
    payload = {"status": status, "primaryMetric": metric} | more
    return experiments.append_record(session_id, "run", payload)


def bring(experiments, session_id, status):
    for step in STEPS[status]:
        experiments.update(session_id, status=step)


def test_a_new_session_is_active_in_segment_one_and_points_nowhere(experiments, made):
    assert (made.status, made.current_segment, made.finalized_at) == ("active", 1, None)
    assert (made.baseline_run_id, made.best_run_id) == (None, None)
    assert (made.kept_run_ids, made.tags, made.metadata) == ([], [], None)
    assert made.metric == {"name": "total_ms", "unit": "ms", "direction": "minimize"}
    assert experiments.get("s") == made
    assert experiments.get("nope") is None


def test_a_session_that_exists_is_not_made_again(experiments, made):
    with pytest.raises(SessionExistsError):
        experiments.create("other", METRIC, session_id="s")

    assert experiments.get("s").name == "sort speed"


@pytest.mark.parametrize(
    "rounds", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_two_processes_that_each_open_append_and_close_give_no_seq_twice_and_leave_none_out(
    store, made, rounds
):
    command = [sys.executable, "-c", APPEND, store.path, str(rounds)]
    writers = [subprocess.Popen(command) for _ in range(2)]
    assert [writer.wait() for writer in writers] == [0, 0]

    records = store.sql("select seq, type from experiment_session_records order by seq").rows()
    ordinals = store.sql("select ordinal from runs order by seq").rows()

    assert records == [(1, "config"), *((seq, "run") for seq in range(2, 2 * rounds + 2))]
    assert ordinals == [(number,) for number in range(1, 2 * rounds + 1)]


def test_seq_goes_up_by_session(experiments, made):
    experiments.create("other", METRIC, session_id="t")

    seqs = [run(experiments, name).seq for name in ("s", "t", "s", "t", "s")]

    assert seqs == [2, 2, 3, 3, 4]


@pytest.mark.parametrize(("status", "to"), list(itertools.product(STATES, STATES)))
def test_a_session_takes_only_the_steps_of_its_states(experiments, made, status, to):
    bring(experiments, "s", status)

    if (status, to) in ALLOWED:
        assert experiments.update("s", status=to).status == to
        return
    with pytest.raises(SessionStatusError) as caught:
        experiments.update("s", status=to)

    assert caught.value.status == status
    assert experiments.get("s").status == status


def test_a_step_is_an_event(store, experiments, made):
    bring(experiments, "s", "finalized")

    found = store.sql("select payload from events where type = 'status_changed' order by seq")

    assert [json.loads(payload)["to"] for (payload,) in found.rows()] == ["finalizing", "finalized"]


@pytest.mark.parametrize("status", ["active", "finalizing"])
@pytest.mark.parametrize("type_", ["run", "hook", "finalize"])
def test_a_session_that_is_not_done_takes_records(experiments, made, status, type_):
    bring(experiments, "s", status)

    record = experiments.append_record("s", type_, {"status": "keep", "primaryMetric": 1.5})

    assert (record.type, record.payload["status"]) == (type_, "keep")
    assert experiments.list_records("s")[-1] == record


@pytest.mark.parametrize(
    ("type_", "payload"),
    [
        ("config", {"metric": {"name": "m"}, "n": None}),
        ("hook", None),
        ("hook", {"stage": "after", "nested": {"a": [1, None]}}),
        ("finalize", {"branches": []}),
        ("run", {"status": "errored", "primaryMetric": float("nan"), "secondaryMetrics": []}),
        ("run", {"status": "keep", "primaryMetric": 1.5, "commit": "abc", "description": "é"}),
        ("run", {"status": "keep"}),
        ("run", {"status": "keep", "secondaryMetrics": [{"name": "kb", "value": 3}], "asi": {}}),
    ],
)
def test_what_appending_answers_is_the_row_in_the_table(experiments, made, type_, payload):
    record = experiments.append_record("s", type_, payload)
    assert record == experiments.get_record(record.id)

    patched = experiments.update_record_payload(record.id, {"commit": None, "note": {"a": 1}})
    assert patched == experiments.get_record(record.id)


@pytest.mark.parametrize("status", ["finalized", "archived"])
@pytest.mark.parametrize("type_", ["config", "run", "hook", "finalize"])
def test_appending_to_a_session_that_is_done_is_refused(experiments, made, status, type_):
    bring(experiments, "s", status)

    with pytest.raises(SessionStatusError) as caught:
        experiments.append_record("s", type_, {"status": "keep", "primaryMetric": 1})

    assert caught.value.message == f"Cannot append record to {status} session: s"
    assert len(experiments.list_records("s")) == 1


@pytest.mark.parametrize("status", ["finalized", "archived"])
def test_a_session_that_is_done_opens_no_segment(experiments, made, status):
    run(experiments)
    bring(experiments, "s", status)

    with pytest.raises(SessionStatusError):
        experiments.start_new_segment("s")

    assert experiments.get("s").current_segment == 1


def test_records_are_append_only_a_patch_is_a_record_and_the_line_before_it_stays(
    store, experiments, made
):
    record = run(experiments)
    before = store.sql("select * from records where seq = 2").rows()
    cursor = store.session("s")["cursor"]

    experiments.update_record_payload(record.id, {"note": "warm cache"})

    assert store.sql("select * from records where seq = 2").rows() == before
    text = "select payload from experiment_session_records where seq = 2"
    (now,), (then,) = store.sql(text).rows()[0], store.sql(text, as_of=cursor).rows()[0]
    assert json.loads(now) == json.loads(then) | {"note": "warm cache"}


def test_entering_finalized_sets_finalized_at_once(experiments, made):
    experiments.update("s", status="finalizing")
    assert experiments.get("s").finalized_at is None

    finalized = experiments.update("s", status="finalized").finalized_at
    archived = experiments.update("s", status="archived")

    assert finalized is not None
    assert archived.finalized_at == finalized


def test_record_kept_adds_a_run_once_and_keeps_the_order(experiments, made):
    first, second = run(experiments, status="discard"), run(experiments, status="discard")

    for record in (second, first, second, first):
        experiments.record_kept("s", record.id)

    assert experiments.get("s").kept_run_ids == [second.id, first.id]


def test_a_keep_is_in_the_ledger_without_being_put_there(store, experiments, made):
    record = run(experiments)
    cursor = store.session("s")["cursor"]

    found = experiments.record_kept("s", record.id)

    assert found.kept_run_ids == [record.id]
    assert store.session("s")["cursor"] == cursor


def test_a_patch_backfills_the_commit_of_a_keep(store, experiments, made):
    record = run(experiments, asi={"a": 1})

    patched = experiments.update_record_payload(record.id, {"commit": "3f1c9d2"})

    assert patched.payload == record.payload | {"commit": "3f1c9d2"}
    assert experiments.get_record(record.id) == patched
    assert store.sql("select commit from runs").rows() == [("3f1c9d2",)]


def test_a_patch_is_merged_key_by_key_and_a_null_in_it_stays(experiments, made):
    record = run(experiments, asi={"a": 1}, note="n")

    experiments.update_record_payload(record.id, {"asi": {"b": 2}, "note": "m"})
    found = experiments.update_record_payload(record.id, {"note": None})

    assert found.payload == record.payload | {"asi": {"b": 2}, "note": None}


@pytest.mark.parametrize("compacted", [False, True])
def test_the_open_session_and_sql_fold_patches_alike(store, experiments, made, compacted):
    record = run(experiments, asi={"a": 1})
    experiments.update_record_payload(record.id, {"commit": "abc", "asi": None})
    if compacted:
        store.compact()
    with store.experiment("s") as session:
        held = session.get_record(record.id)

    found = experiments.get_record(record.id)

    assert found.payload == held["payload"] | {"status": "keep"}
    assert held["commit"] == "abc"


@pytest.mark.parametrize("status", ["finalized", "archived"])
def test_when_a_session_is_done_a_patch_can_only_tell_a_commit_that_is_missing(
    experiments, made, status
):
    record, other = run(experiments), run(experiments, commit="abc")
    bring(experiments, "s", status)

    found = experiments.update_record_payload(record.id, {"commit": "3f1c9d2"})

    assert found.payload["commit"] == "3f1c9d2"
    for target, patch in [
        (record, {"commit": "0000000"}),
        (record, {"note": "n"}),
        (other, {"commit": "3f1c9d2"}),
        (other, {"commit": None}),
    ]:
        with pytest.raises(SessionStatusError):
            experiments.update_record_payload(target.id, patch)


def test_a_new_segment_resets_the_pointers_and_the_kept_go_on(experiments, made):
    kept = run(experiments)

    record = experiments.start_new_segment("s", metric=Metric("score", "", "maximize"))

    found = experiments.get("s")
    assert (record.type, record.segment, found.current_segment) == ("config", 2, 2)
    assert (found.baseline_run_id, found.best_run_id) == (None, None)
    assert found.kept_run_ids == [kept.id]
    assert found.metric == {"name": "score", "unit": "", "direction": "maximize"}


def test_baseline_and_best_follow_the_runs_until_someone_sets_them(experiments, made):
    slow, fast = run(experiments, metric=9.0), run(experiments, metric=3.0)
    computed = experiments.get("s")

    experiments.set_baseline_run("s", fast.id)
    found = experiments.set_best_run("s", slow.id)
    better = run(experiments, metric=1.0)

    assert (computed.baseline_run_id, computed.best_run_id) == (slow.id, fast.id)
    assert (found.baseline_run_id, found.best_run_id) == (fast.id, slow.id)
    assert experiments.get("s").best_run_id == slow.id
    assert experiments.start_new_segment("s").segment == 2
    assert experiments.get("s").best_run_id is None
    assert better.id in experiments.get("s").kept_run_ids


SETTERS = ("set_baseline_run", "set_best_run", "record_kept")


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("status", STATES)
def test_a_pointer_can_be_set_in_every_state(experiments, made, setter, status):
    record = run(experiments, status="discard")
    bring(experiments, "s", status)

    found = getattr(experiments, setter)("s", record.id)

    told = {
        "set_baseline_run": found.baseline_run_id,
        "set_best_run": found.best_run_id,
        "record_kept": (found.kept_run_ids or [None])[0],
    }
    assert (told[setter], found.status) == (record.id, status)


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("session_id", ["s", "nope"])
@pytest.mark.parametrize("target", ["missing", "foreign hook", "hook", "foreign run"])
def test_pointer_errors_come_in_their_order(experiments, made, setter, session_id, target):
    experiments.create("other", METRIC, session_id="t")
    ids = {
        "missing": "nope",
        "hook": experiments.append_record("s", "hook").id,
        "foreign hook": experiments.append_record("t", "hook").id,
        "foreign run": run(experiments, "t").id,
    }
    record = ids[target]
    if session_id == "nope":
        expected = SessionNotFoundError, "Experiment session not found: nope"
    elif target == "missing":
        expected = RecordNotFoundError, "Experiment record not found: nope"
    elif target == "foreign run":
        text = f"Experiment record {record} does not belong to session s"
        expected = InvalidRecordError, text
    else:
        expected = InvalidRecordError, f"Experiment record is not a run: {record}"

    with pytest.raises(expected[0]) as caught:
        getattr(experiments, setter)(session_id, record)

    assert caught.value.message == expected[1]


def test_deleting_a_session_takes_its_records_with_it(store, experiments, made):
    record = run(experiments)
    experiments.set_best_run("s", record.id)
    experiments.create("other", METRIC, session_id="t")

    assert [experiments.delete("s"), experiments.delete("s")] == [True, False]

    assert (experiments.get("s"), experiments.get_record(record.id)) == (None, None)
    assert experiments.list_records("s") == []
    for table in ("experiment_session_records", "runs", "records", "events", "kept_runs"):
        column = '"sessionId"' if table.startswith("experiment") else "session_id"
        assert ("s",) not in store.sql(f"select distinct {column} from {table}").rows()
    assert [session.id for session in experiments.list()] == ["t"]


@pytest.fixture
def several(experiments):
    """Sessions a to d, made in that order."""
    experiments.create("sort speed", METRIC, session_id="a", project_id="p", tags=["cpu", "50%"])
    experiments.create("parse speed", METRIC, session_id="b", project_id="q", tags=["cpu"])
    experiments.create("val loss", METRIC, session_id="c", project_id="p", tags=["cp"])
    experiments.create("loss", METRIC, session_id="d", working_dir="/work/Parse")
    experiments.update("c", status="archived")
    return experiments


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, "dcba"),
        ({"status": "active"}, "dba"),
        ({"status": "archived"}, "c"),
        ({"project_id": "p"}, "ca"),
        ({"tag": "cpu"}, "ba"),
        ({"tag": "cp"}, "c"),
        ({"tag": "c%"}, ""),
        ({"tag": "50%"}, "a"),
        ({"search": "parse"}, "db"),
        ({"search": "%"}, ""),
        ({"search": "SPEED", "project_id": "p"}, "a"),
        ({"limit": 2}, "dc"),
        ({"limit": 2, "offset": 1}, "cb"),
        ({"offset": 3}, "a"),
        ({"limit": 0}, ""),
        ({"status": "active", "tag": "cpu", "limit": 1}, "b"),
    ],
)
def test_sessions_are_listed_the_newest_first_by_each_filter(several, filters, found):
    assert "".join(session.id for session in several.list(**filters)) == found


FILTERS = [{}, {"status": "active"}, {"project_id": "p"}, {"tag": "a"}, {"search": "N"}]


@pytest.mark.parametrize("filters", FILTERS)
def test_listing_reads_no_history(histories, filters):
    read = []
    for path in histories:
        spy = ReadSpy(path)
        found = Store(path, files=spy).experiments().list(**filters)
        assert [session.id for session in found] == ["s"]
        read.append(spy.bytes_by_path)

    short, long = read
    assert set(long) == set(short)
    assert sum(long.values()) <= sum(short.values()) + 512


def test_a_page_of_the_list_opens_the_sessions_of_the_page_alone(store, several):
    spy = ReadSpy(store.path)

    found = Store(store.path, files=spy).experiments().list(limit=1)

    assert [session.id for session in found] == ["d"]
    opened = {path for path in spy.opened if path.endswith(".ndjson")}
    assert {path.split("/")[0] for path in opened} == {"d"}


@pytest.fixture(scope="module")
def histories(tmp_path_factory):
    """A store with a short session, and one with a long session in several parts."""
    stores = []
    for runs in (10, 2000):
        store = Store(str(tmp_path_factory.mktemp(f"runs-{runs}")))
        with store.experiment("s", create=True, level="fast", seal_bytes=64 << 10) as session:
            session.start(METRIC, name="n", project_id="p", tags=["a"])
            for _ in range(runs // 10):
                session.append_records([{"type": "run", "status": "discard", "metric": 1}] * 10)
        stores.append(store.path)
    assert len(list(Path(stores[1], "s", "journal").iterdir())) > 3
    return stores


@pytest.mark.parametrize("page", [{"limit": -1}, {"offset": -1}])
def test_a_negative_page_is_refused(several, page):
    with pytest.raises(InputError):
        several.list(**page)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, [1, 2, 3, 5, 6]),
        ({"type": "run"}, [2, 6]),
        ({"type": "patch"}, [4]),
        ({"segment": 2}, [5, 6]),
        ({"segment": 1, "type": "hook"}, [3]),
        ({"limit": 2}, [1, 2]),
        ({"limit": 2, "offset": 1}, [2, 3]),
        ({"offset": 4}, [6]),
        ({"limit": 0}, []),
    ],
)
def test_records_are_listed_by_seq_by_each_filter(experiments, made, filters, found):
    record = run(experiments)
    experiments.append_record("s", "hook")
    experiments.update_record_payload(record.id, {"commit": "abc"})
    experiments.start_new_segment("s")
    run(experiments)

    assert [one.seq for one in experiments.list_records("s", **filters)] == found


def test_a_session_is_said_anew_field_by_field(experiments, made):
    experiments.update("s", name="n", tags=["x"], project_id="p", max_iterations=9)

    found = experiments.update("s", metadata={"k": [1]}, working_dir="/w", project_id=None)

    assert (found.name, found.tags, found.project_id) == ("n", ["x"], None)
    assert (found.max_iterations, found.metadata, found.working_dir) == (9, {"k": [1]}, "/w")
    assert found.updated_at > made.updated_at


@pytest.mark.parametrize("changes", [{"name": None}, {"seq": 1}, {"max_iterations": "9"}])
def test_a_session_cannot_be_said_to_be_what_it_cannot_be(experiments, made, changes):
    with pytest.raises(InputError):
        experiments.update("s", **changes)

    assert experiments.get("s") == made


QUERIES = {
    "the loop's table": """
        SELECT s.id, s."currentSegment", s."bestRunId", s."keptRunIds", s."finalizedAt",
               s.metric ->> '$.direction' AS direction,
               r.seq, r.type, r.payload ->> '$.commit' AS "commit"
        FROM experiment_sessions s
        JOIN experiment_session_records r
          ON r."sessionId" = s.id AND r.segment = s."currentSegment"
        WHERE s.status = 'active' AND s."projectId" = 'p' AND r.type IN ('run', 'hook')
        ORDER BY s."createdAt" DESC, r.seq""",
    "unquoted names": """
        SELECT id, name, projectId, status, currentSegment, maxIterations, workingDir
        FROM experiment_sessions WHERE projectId = 'p' ORDER BY createdAt""",
    "by segment": """
        SELECT sessionId, segment, type, count(*) AS n, min(seq) AS first, max(seq) AS last
        FROM experiment_session_records WHERE type <> 'patch'
        GROUP BY sessionId, segment, type ORDER BY sessionId, segment, type""",
    "the last runs": """
        SELECT id, payload ->> '$.status' AS status FROM experiment_session_records
        WHERE sessionId = 's' AND type = 'run' ORDER BY seq DESC LIMIT 2 OFFSET 1""",
    "sessions without a run": """
        SELECT s.id FROM experiment_sessions s WHERE NOT EXISTS (
            SELECT 1 FROM experiment_session_records r
            WHERE r.sessionId = s.id AND r.type = 'run')""",
    "the best run": """
        SELECT s.id, r.seq, r.payload ->> '$.status' FROM experiment_sessions s
        LEFT JOIN experiment_session_records r ON r.id = s.bestRunId ORDER BY s.id""",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A store, and Fusion's own tables in SQLite with the same in them."""
    folder = tmp_path_factory.mktemp("both")
    store = Store(str(folder / "store"))
    experiments = store.experiments()
    experiments.create("sort", METRIC, session_id="s", project_id="p", max_iterations=9)
    experiments.create("empty", METRIC, session_id="t", working_dir="/w")
    record = run(experiments, metric=3.0)
    experiments.append_record("s", "hook", {"stage": "after"})
    experiments.update_record_payload(record.id, {"commit": "abc"})
    run(experiments, metric=1.0), run(experiments, status="discard", metric=0.5)
    experiments.start_new_segment("s")
    run(experiments, metric=2.0)
    file = folder / "fusion.db"
    for name in ("s", "t"):
        store.export(name, "fusion", folder / f"{name}.db")
    (folder / "s.db").rename(file)
    with closing(sqlite3.connect(file)) as tables:
        tables.execute("attach ? as other", [str(folder / "t.db")])
        for table in TABLES:
            tables.execute(f"insert into main.{table} select * from other.{table}")
        tables.commit()
        yield store, tables


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_query_written_for_fusions_tables_runs_unchanged(both, query):
    store, tables = both

    ours, theirs = store.sql(query).rows(), tables.execute(query).fetchall()

    assert ours == theirs
    assert ours


def test_a_query_sees_the_payload_under_its_patches(both):
    store, _ = both
    text = """SELECT payload ->> '$.commit' FROM experiment_session_records WHERE seq = 2"""

    assert store.sql(text, sessions=["s"]).rows() == [("abc",)]


TABLES = {
    "experiment_sessions": "id name projectId status metric currentSegment maxIterations "
    "workingDir baselineRunId bestRunId keptRunIds tags metadata createdAt updatedAt finalizedAt",
    "experiment_session_records": "id sessionId segment seq type payload createdAt",
}


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_have_the_columns_of_the_model(store, experiments, made, table):
    assert store.sql(f"from {table}").columns == TABLES[table].split()
