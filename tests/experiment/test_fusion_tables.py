"""Fusion's two tables, in and out. The rows are made by the schema that Fusion documents."""

import json
import sqlite3

import pytest

import varvite
from varvite.adapters import fusion_rows
from varvite.adapters.pi_line import as_pi
from varvite.errors import InputError, NotFoundError, StateConflictError
from varvite.experiment.session import ExperimentSession

RUN = {
    "primaryMetric": 5,
    "secondaryMetrics": [{"name": "kb", "value": 2, "unit": "kb"}],
    "status": "keep",
    "asi": {"hypothesis": "ü"},
}
ROWS = [
    (1, 1, "run", RUN),
    (1, 2, "hook", {"stage": "after", "exitCode": 0}),
    (2, 3, "config", {"note": "second", "metric": {"name": "ops", "direction": "maximize"}}),
    (2, 4, "run", {"primaryMetric": None, "secondaryMetrics": [], "status": "errored"}),
    (2, 5, "run", {"primaryMetric": -1.5, "status": "keep", "commit": "abc"}),
    (2, 6, "run", {"primaryMetric": 4, "status": "discard"}),
    (2, 7, "finalize", {"branches": []}),
]
SESSION = {
    "id": "EXP-1a",
    "name": "speed",
    "projectId": "p",
    "status": "finalized",
    "metric": '{"name":"ms","unit":"ms","direction":"minimize"}',
    "currentSegment": 2,
    "maxIterations": 10,
    "workingDir": "/w",
    "baselineRunId": "EXPR-4",
    "bestRunId": "EXPR-5",
    "keptRunIds": '["EXPR-1","EXPR-5","EXPR-6"]',
    "tags": '["a","b"]',
    "metadata": '{"baselineCommit": "f00"}',
    "createdAt": "2026-01-01T00:00:00.000Z",
    "updatedAt": "2026-01-02T00:00:00.000Z",
    "finalizedAt": "2026-01-01T12:00:00.123Z",
}


class Database:
    def __init__(self, path):
        self.path = path
        self.run(fusion_rows.SCHEMA)

    def run(self, text, params=None):
        with sqlite3.connect(self.path) as connection:
            connection.row_factory = sqlite3.Row
            if params is None and ";" in text:
                found = connection.executescript(text)
            else:
                found = connection.execute(text, params or [])
            rows = [dict(row) for row in found]
        connection.close()
        return rows

    def add_session(self, **changes):
        row = SESSION | changes
        self.run(
            f"insert into experiment_sessions values ({', '.join('?' * len(row))})", [*row.values()]
        )

    def add(self, segment, seq, kind, payload, session="EXP-1a", record_id=None):
        text = payload if isinstance(payload, str | bytes) else json.dumps(payload)
        created = f"2026-01-01T00:00:{seq % 60:02}.000Z" if isinstance(seq, int) else "x"
        row = [record_id or f"EXPR-{seq}", session, segment, seq, kind, text, created]
        self.run("insert into experiment_session_records values (?, ?, ?, ?, ?, ?, ?)", row)

    def rows(self):
        return [
            self.run("select * from experiment_sessions order by id"),
            self.run("select * from experiment_session_records order by sessionId, seq"),
        ]


@pytest.fixture
def store(tmp_path):
    return varvite.open(tmp_path / "store")


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "fusion.db")
    made.add_session()
    for row in ROWS:
        made.add(*row)
    return made


def take(store, database, **options):
    (report,) = store.import_fusion(database.path, **options)
    return report


def back(store, tmp_path, session="exp-1a"):
    target = tmp_path / "back.db"
    target.unlink(missing_ok=True)
    store.export(session, "fusion", target)
    return Database(target)


def test_a_session_has_fusions_pointers_state_and_payloads(store, database):
    report = take(store, database)

    assert (report.session_id, report.fusion_id) == ("exp-1a", "EXP-1a")
    assert (report.report.imported, report.report.quarantined, report.dangling) == (7, [], [])
    (row,) = store.sql("from experiment_sessions").dicts()
    same = ["name", "projectId", "status", "currentSegment", "maxIterations", "workingDir"]
    same += ["baselineRunId", "bestRunId", "keptRunIds"]
    assert {name: row[name] for name in same} == {name: SESSION[name] for name in same}
    assert json.loads(row["tags"]) == ["a", "b"]
    assert json.loads(row["metadata"]) == {"baselineCommit": "f00"}
    assert row["finalizedAt"].isoformat() == "2026-01-01T12:00:00.123000+00:00"
    records = store.sql(
        "select id, segment, type, payload from experiment_session_records where id like 'EXPR%' order by seq"
    ).rows()
    assert [(record[0], record[1], record[2]) for record in records] == [
        (f"EXPR-{seq}", segment, kind) for segment, seq, kind, _ in ROWS
    ]
    for (_, _, _, given), (*_, payload) in zip(ROWS, records, strict=True):
        assert (
            json.loads(payload).items() >= {k: v for k, v in given.items() if v is not None}.items()
        )


def test_the_ledger_reads_fusions_runs_by_its_own_rules(store, database):
    take(store, database)

    with store.experiment("exp-1a") as session:
        first, second = session.segment(1), session.segment(2)

    assert (first.definition.metric_name, first.definition.direction) == ("ms", "minimize")
    assert (second.definition.metric_name, second.definition.direction) == ("ops", "maximize")
    assert (first.best.metric, second.best.metric, second.baseline.id) == (5, -1.5, "EXPR-4")
    assert store.sql("select metrics, commit from runs order by seq").rows() == [
        ('{"kb":2.0}', None),
        ("{}", None),
        (None, "abc"),
        (None, None),
    ]


def test_rows_come_out_as_they_went_in(store, database, tmp_path):
    database.add_session(
        id="EXP-2",
        keptRunIds="[]",
        baselineRunId=None,
        bestRunId=None,
        status="active",
        finalizedAt=None,
        currentSegment=7,
    )
    database.add(7, 1, "run", {"primaryMetric": 1e30, "status": "odd"}, "EXP-2", "EXPR-x")
    store.import_fusion(database.path)
    out = Database(tmp_path / "all.db")

    for name in ("exp-1a", "exp-2"):
        sessions, records = back(store, tmp_path, name).rows()
        for table, rows in (
            ("experiment_sessions", sessions),
            ("experiment_session_records", records),
        ):
            for row in rows:
                out.run(
                    f"insert into {table} values ({', '.join('?' * len(row))})", [*row.values()]
                )

    assert out.rows() == database.rows()
    with store.experiment("exp-2") as session:
        assert (session.state().segment, session.segment(7).runs) == (7, 1)


def test_importing_again_reads_only_what_is_new(store, database):
    take(store, database)
    cursor = store.session("exp-1a")["cursor"]

    again = take(store, database)
    unchanged = store.session("exp-1a")["cursor"]
    database.add(2, 8, "run", {"primaryMetric": 9, "status": "keep"})
    grown = take(store, database)

    assert (again.report.lines, again.report.imported, unchanged) == (0, 0, cursor)
    assert (grown.report.lines, grown.report.imported, grown.report.generation) == (1, 1, 1)
    assert store.sql("select status from experiment_sessions").rows() == [("finalized",)]


def test_a_commit_that_fusion_backfills_is_a_patch(store, database, tmp_path):
    take(store, database)
    database.run(
        "update experiment_session_records set payload = ? where seq = 1",
        [json.dumps(RUN | {"commit": "f1"})],
    )

    report = take(store, database)

    assert (report.report.generation, report.report.patched, report.report.imported) == (1, 1, 0)
    assert store.sql("select commit from runs where ordinal = 1").rows() == [("f1",)]
    assert take(store, database).report.patched == 0
    assert [json.loads(row["payload"]) for row in back(store, tmp_path).rows()[1]] == [
        json.loads(row["payload"]) for row in database.rows()[1]
    ]


@pytest.mark.parametrize(
    "change",
    [
        'update experiment_session_records set payload = \'{"status":"keep","primaryMetric":3}\' where seq = 1',
        "update experiment_session_records set payload = json_set(payload, '$.status', 'discard') where seq = 1",
        "delete from experiment_session_records where seq = 2",
        "delete from experiment_session_records where seq = 7",
        'update experiment_sessions set metric = \'{"name":"kb","direction":"maximize"}\'',
    ],
)
def test_history_that_was_made_anew_is_read_anew(store, database, tmp_path, change):
    take(store, database)
    database.run(change)

    report = take(store, database)

    assert (report.report.generation, report.report.rewritten) == (2, True)
    runs = store.sql("select count(*) from runs where counts").rows()[0][0]
    assert runs == len(database.run("select 1 from experiment_session_records where type = 'run'"))
    assert back(store, tmp_path).rows() == database.rows()
    (metric,) = database.run("select metric from experiment_sessions")
    (first,) = store.sql("select metric_name from runs where counts order by seq limit 1").rows()
    assert first == (json.loads(metric["metric"])["name"],)
    with store.experiment("exp-1a", rules="fusion") as session:
        assert [session.pointer(name) for name in ("best", "baseline")] == ["EXPR-5@2", "EXPR-4@2"]
        session.update(name="ours")
    (changed,) = back(store, tmp_path).rows()[0]
    same = ("id", "bestRunId", "baselineRunId", "createdAt", "finalizedAt")
    assert {name: changed[name] for name in same} == {name: SESSION[name] for name in same}
    assert (changed["name"], "@" in changed["keptRunIds"]) == ("ours", False)


def test_what_changed_in_fusions_row_is_taken_over_and_the_rest_stays(store, database):
    database.run(
        "update experiment_sessions set status = 'active', finalizedAt = null, bestRunId = null"
    )
    take(store, database)
    with store.experiment("exp-1a") as session:
        session.set_baseline_run("EXPR-6")
    database.run(
        "update experiment_sessions set name = 'n', status = 'archived', bestRunId = 'EXPR-1'"
    )

    take(store, database)

    row = store.sql(
        'select name, status, "baselineRunId", "bestRunId", "finalizedAt" from experiment_sessions'
    ).rows()
    assert row == [("n", "archived", "EXPR-6", "EXPR-1", None)]


@pytest.mark.parametrize(
    ("status", "finalized_at"),
    [
        ("active", None),
        ("active", "2026-01-01T12:00:00.123Z"),
        ("finalizing", None),
        ("finalized", "2026-01-01T12:00:00.123Z"),
        ("archived", "2026-01-01T12:00:00.123Z"),
        ("archived", None),
    ],
)
def test_every_state_of_fusions_is_ours(store, database, status, finalized_at):
    database.run(
        "update experiment_sessions set status = ?, finalizedAt = ?", [status, finalized_at]
    )

    take(store, database)

    found = store.session("exp-1a")["summary"]
    assert found["status"] == status
    assert found["finalized_at"] == (finalized_at and "2026-01-01T12:00:00.123000Z")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ((1, 9, "note", "{}"), "unknown_shape"),
        ((1, 9, "run", "{torn"), "malformed"),
        ((1, 9, "run", "[1]"), "not_an_object"),
        ((1, 9, "run", b"\xff"), "not_utf8"),
        ((0, 9, "run", "{}"), "unknown_shape"),
        ((1, "nine", "run", "{}"), "unknown_shape"),
        ((1, 9, "run", json.dumps({"a": "x" * 1_100_000})), "too_long"),
    ],
)
def test_a_bad_row_is_kept_aside_with_its_table_and_rowid(store, database, cells, kind):
    database.add(*cells)
    (rowid,) = database.run("select max(rowid) as n from experiment_session_records")

    report = take(store, database)

    assert report.report.imported == 7
    assert report.report.quarantined == [(rowid["n"], kind, "kept")]
    with store.experiment("exp-1a"):
        pass
    folder = store.path + "/exp-1a/quarantine.jsonl"
    with open(folder) as file:
        kept = json.loads(file.readline())
    assert kept["reason"].startswith(f"experiment_session_records rowid {rowid['n']}: ")
    assert take(store, database).report.lines == 0


def test_pointers_to_nothing_are_told_and_left_out(store, database):
    database.run(
        "update experiment_sessions set bestRunId = 'EXPR-99', keptRunIds = '[\"EXPR-2\"]', tags = '{}'"
    )

    report = take(store, database)

    assert report.dangling == ["EXPR-99", "EXPR-2"]
    assert report.unread == ["tags"]


def test_a_metric_of_a_run_that_is_none_is_null_and_told(store, database):
    report = take(store, database)

    assert (4, "primaryMetric", "null, as it is missing") in report.report.defaulted


def test_what_is_no_database_of_fusions_is_refused(store, tmp_path):
    (tmp_path / "text.db").write_text("no database at all, but long enough to have a header")
    sqlite3.connect(tmp_path / "other.db").execute("create table t (a)").connection.close()

    for name in ("text.db", "other.db"):
        with pytest.raises(InputError) as caught:
            store.import_fusion(tmp_path / name)
        assert caught.value.file == str(tmp_path / name)
    with pytest.raises(NotFoundError):
        store.import_fusion(tmp_path / "none.db")


def test_the_database_is_not_written_to(store, database):
    before = database.path.read_bytes()

    take(store, database)

    assert database.path.read_bytes() == before
    assert [path.name for path in database.path.parent.iterdir() if "fusion" in path.name] == [
        "fusion.db"
    ]


def test_what_fusion_kept_is_taken_over_without_reading_each_record(store, database, monkeypatch):
    for seq in range(100, 400):
        database.add(2, seq, "run", {"primaryMetric": seq, "status": "keep"})
    kept = [f"EXPR-{seq}" for seq in range(100, 400)]
    database.run("update experiment_sessions set keptRunIds = ?", [json.dumps(kept)])
    asked, get_record = [], ExperimentSession.get_record
    monkeypatch.setattr(
        ExperimentSession,
        "get_record",
        lambda self, name: asked.append(name) or get_record(self, name),
    )

    take(store, database)

    assert len(asked) <= 4
    found = store.experiments(rules="fusion").get("exp-1a").kept_run_ids
    assert found == kept


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_that_is_written_meanwhile_is_read_as_it_was_committed(store, database, mode):
    writer = sqlite3.connect(database.path, isolation_level=None)
    writer.execute(f"pragma journal_mode = {mode}")
    row = ["EXPR-8", "EXP-1a", 2, 8, "run", '{"primaryMetric":1,"status":"keep"}', "2026-01-01"]
    insert = "insert into experiment_session_records values (?, ?, ?, ?, ?, ?, ?)"
    writer.execute("begin immediate")
    writer.execute(insert, row)

    before = take(store, database).report.imported
    writer.execute("commit")
    after = take(store, database).report.imported
    writer.close()

    assert (before, after) == (7, 1)


def test_fusions_session_comes_out_as_a_log_that_pi_reads(store, database, dict_ledger, pi_records):
    take(store, database)
    ledger = dict_ledger()
    store.export("exp-1a", "pi", database.path.parent / "log.jsonl")

    for record in pi_records([(database.path.parent / "log.jsonl").read_bytes()]):
        ledger.add(as_pi(record))

    seen = [ledger.segment(number) for number in (1, 2)]
    assert [(one.runs, one.best.metric, one.definition.direction) for one in seen] == [
        (1, 5, "minimize"),
        (3, -1.5, "maximize"),
    ]


def test_a_session_with_runs_of_its_own_takes_no_rows(store, database):
    with store.experiment("mine", create=True, metric=varvite.Metric("ms")) as session:
        session.append_record({"type": "run", "status": "keep", "metric": 1})

    with pytest.raises(StateConflictError):
        take(store, database, session_id="mine")


def test_our_own_session_goes_to_fusion_and_back(store, tmp_path):
    with store.experiment("mine", create=True, metric=varvite.Metric("ms")) as session:
        session.append_record({"type": "run", "status": "keep", "metric": 3, "metrics": {"a": 1}})
        session.append_record({"type": "run", "status": "keep", "metric": 2})
        session.append_record({"type": "run", "status": "discard", "metric": 1})
        wanted = [session.best().id, [run.id for run in session.kept()], session.baseline().id]
    store.export("mine", "fusion", tmp_path / "mine.db")

    store.import_fusion(tmp_path / "mine.db", "back")

    with store.experiment("back") as session:
        assert [
            session.best().id,
            [run.id for run in session.kept()],
            session.baseline().id,
        ] == wanted
        assert session.segment().definition.metric_name == "ms"
