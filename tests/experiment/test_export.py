import json
import sqlite3
import subprocess

import pytest

import varvite
from varvite.adapters.pi_line import as_pi
from varvite.adapters.pi_log import PiLog
from varvite.adapters.table_log import TableLog
from varvite.errors import InputError, SessionNotFoundError, StorageError


@pytest.fixture
def store(tmp_path):
    return varvite.open(tmp_path / "store")


@pytest.fixture
def logs(shared):
    return shared / "data" / "experiments"


def strict(logs):
    files = json.loads((logs / "expected.json").read_text())["files"]
    return sorted(name for name, entry in files.items() if entry["set"] == "strict")


def imported(store, path, session_id="e"):
    with store.experiment(session_id, create=True) as session:
        session.import_log(PiLog(path, closed=True))


def exported(store, tmp_path, session_id="e", form="pi", name="out.jsonl"):
    store.export(session_id, form, tmp_path / name)
    return (tmp_path / name).read_bytes()


def facts(session):
    """Segments, baselines, best and kept, by ordinal."""
    numbers = range(1, session.state().segment + 1)
    segments = [session.segment(number) for number in numbers]
    return [
        (
            s.runs,
            s.definition,
            s.baseline and (s.baseline.ordinal, s.baseline.metric, s.baseline.status),
            s.baseline_valid and s.baseline_valid.ordinal,
            s.best and (s.best.ordinal, s.best.metric),
            s.statuses,
        )
        for s in segments
        if s
    ], [(run.ordinal, run.segment, run.metric) for run in session.kept()]


def content(data):
    """The lines that are not blank, with line ends as pi takes them."""
    return [line for line in data.split(b"\n") if line.strip()]


def test_each_strict_log_comes_out_line_for_line_as_it_went_in(store, logs, tmp_path):
    names = strict(logs)

    for number, name in enumerate(names):
        path = logs / "autoresearch" / name
        imported(store, path, f"e{number}")

        ours = content(exported(store, tmp_path, f"e{number}"))

        assert ours == content(path.read_bytes()), name
        assert [list(json.loads(line).items()) for line in ours] == [
            list(json.loads(line).items()) for line in content(path.read_bytes())
        ]
    assert len(names) >= 33


def test_a_log_of_any_dialect_comes_out_whole_unreadable_lines_too(store, logs, tmp_path):
    for number, path in enumerate(sorted((logs / "autoresearch").iterdir())[:21]):
        imported(store, path, f"e{number}")

        assert content(exported(store, tmp_path, f"e{number}")) == content(path.read_bytes())


@pytest.mark.parametrize(
    "line",
    [
        b"{torn",
        b"\xef\xbb\xbf" + b'{"type":"config"}',
        b"\xff\xfe",
        b'{"run":1,"metric":1e999,"status":"keep"}\r',
        b'{"run":1,"metric":5,"metric":6,"big":123456789012345678901234567890}',
        b'{"a":"' + b"x" * 1_200_000 + b'"}',
        b'{"run":1,"description":"\\ud800"}',
    ],
)
def test_a_line_of_any_kind_comes_out_byte_for_byte(store, tmp_path, line):
    path = tmp_path / "log.jsonl"
    path.write_bytes(line + b"\n\n" + line + b"\n")
    imported(store, path)

    assert exported(store, tmp_path) == line + b"\n" + line + b"\n"


def trial(store, tmp_path):
    """A session of our own: two segments, every status, hooks, odd metrics, patches."""
    with store.experiment("e", create=True, metric=varvite.Metric("ms", "ms")) as session:
        for status in ("keep", "discard", "crash", "checks_failed", "errored", "pending"):
            session.append_record({"type": "run", "status": status, "metric": 5.5})
        session.append_record({"type": "hook", "payload": {"stage": "after", "run": 3}})
        session.append_record({"type": "run", "status": "confirm", "metric": -2})
        session.start_new_segment(varvite.Metric("ops", "", "maximize"), payload={"note": "n"})
        session.append_record({"type": "run", "status": "crash", "metric": float("nan")})
        kept = session.append_record(
            {
                "type": "run",
                "status": "keep",
                "metric": 0,
                "metrics": {"kb": 1.5},
                "description": "β first",
                "payload": {"asi": {"hypothesis": "h"}, "metric": "hidden", "duration_s": 2},
            }
        )
        session.append_record({"type": "run", "status": "keep", "metric": 0})
        session.append_record({"type": "finalize", "payload": {"kept": 2}})
        run = session.kept()[-2].id
        session.update_record_payload(run, {"commit": "abc1234", "more": None})
        return kept, facts(session)


def test_an_export_of_our_own_session_is_what_pi_writes(store, tmp_path):
    trial(store, tmp_path)

    lines = [json.loads(line) for line in content(exported(store, tmp_path))]

    assert lines[0] == {
        "type": "config",
        "name": None,
        "metricName": "ms",
        "metricUnit": "ms",
        "bestDirection": "lower",
    }
    run = next(line for line in lines if line.get("description") == "β first")
    names = ["run", "commit", "metric", "metrics", "status", "description", "timestamp"]
    assert list(run)[:10] == [*names, "segment", "confidence", "asi"]
    assert (run["run"], run["commit"], run["segment"], run["metrics"]) == (
        9,
        "abc1234",
        1,
        {"kb": 1.5},
    )
    assert (run["duration_s"], run["more"], run["varvite"]) == (
        2,
        None,
        {"payload": {"metric": "hidden"}},
    )
    assert 1.7e12 < run["timestamp"] < 2e12
    assert {line["status"] for line in lines if "metric" in line} == {
        "keep",
        "discard",
        "crash",
        "checks_failed",
    }


def test_an_exported_session_that_is_imported_has_the_same_segments_best_and_kept(store, tmp_path):
    _, wanted = trial(store, tmp_path)
    exported(store, tmp_path)

    imported(store, tmp_path / "out.jsonl", "again")

    with store.experiment("again") as session:
        assert facts(session) == wanted
    again = exported(store, tmp_path, "again", name="again.jsonl")
    assert again == (tmp_path / "out.jsonl").read_bytes()
    stored = "select status, metric, metric_state, coalesce(metrics, '{}') from runs order by seq"
    ours, theirs = (store.sql(stored, sessions=[name]).rows() for name in ("e", "again"))
    assert ours == theirs


def test_pi_reads_the_same_segments_best_and_kept_in_an_exported_session(
    store, tmp_path, dict_ledger, pi_records
):
    _, (segments, kept) = trial(store, tmp_path)
    ledger = dict_ledger()

    for record in pi_records([exported(store, tmp_path)]):
        ledger.add(as_pi(record))

    seen = [ledger.segment(number + 1) for number in range(len(segments))]
    assert [(s.runs, s.definition, s.best and (s.best.ordinal, s.best.metric)) for s in seen] == [
        (runs, definition, best) for runs, definition, _, _, best, _ in segments
    ]
    assert [(run.ordinal, run.segment, run.metric) for run in ledger.kept()] == kept


def test_a_patch_of_an_imported_line_is_in_its_export_and_moves_nothing(store, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"run":1,"commit":"","metric":3,"status":"keep","odd":1e3}\n')
    imported(store, path)
    with store.experiment("e") as session:
        session.update_record_payload(
            session.best().id, {"commit": "abc", "asi": {"a": 1}, "metric": 9, "status": None}
        )

    line = json.loads(exported(store, tmp_path))

    assert line == {
        "run": 1,
        "commit": "abc",
        "metric": 3,
        "status": "keep",
        "odd": 1000.0,
        "asi": {"a": 1},
    }


def test_only_the_newest_reading_of_a_rewritten_log_is_exported(store, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"run":1,"metric":3,"status":"keep"}\n')
    imported(store, path)
    path.write_text('{"run":7,"metric":4,"status":"keep"}\n{"run":8,"metric":5,"status":"keep"}\n')
    imported(store, path)

    assert exported(store, tmp_path) == path.read_bytes()


def test_two_logs_and_what_was_done_between_them_come_out_in_their_order(store, tmp_path):
    config = '{"type":"config","name":"n","metricName":"ms","bestDirection":"%s"}\n'
    run = '{"run":1,"metric":%d,"status":"keep"}\n'
    logs = {"a.jsonl": config % "lower" + run % 5 + run % 3, "b.jsonl": config % "higher" + run % 9}
    with store.experiment("e", create=True) as session:
        for name, text in logs.items():
            session.import_log(PiLog(write(tmp_path / name, text.encode())))
            session.append_record({"type": "run", "status": "keep", "metric": 4})
        wanted = facts(session)

    imported(store, write(tmp_path / "log", exported(store, tmp_path)), "again")

    with store.experiment("again") as session:
        assert facts(session) == wanted


def test_the_loop_of_a_real_repository_survives_the_way_through_pi(store, tmp_path):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(tmp_path)]
    (tmp_path / "n.txt").write_text("5")
    for command in (["init", "-q"], ["add", "n.txt"], ["commit", "-qm", "n"]):
        subprocess.run([*git, *command], check=True)
    with store.experiment("e", create=True, metric=varvite.Metric("n")) as session:
        for value in (5, 7, 3):
            (tmp_path / "n.txt").write_text(str(value))
            loop = session.loop(str(tmp_path))
            loop.run('echo "METRIC n=$(cat n.txt)"')
            loop.log("discard" if value == 7 else "keep", description=f"to {value}")
        wanted = facts(session)

    imported(store, write(tmp_path / "log", exported(store, tmp_path)), "again")

    with store.experiment("again") as session:
        assert facts(session) == wanted


def write(path, data):
    path.write_bytes(data)
    return path


def test_runs_come_out_as_csv_and_as_parquet(store, tmp_path):
    import pyarrow.parquet as pq

    trial(store, tmp_path)

    csv = exported(store, tmp_path, form="csv", name="runs.csv").decode().splitlines()
    exported(store, tmp_path, form="parquet", name="runs.parquet")

    view = store.sql("from runs order by seq")
    assert pq.read_table(tmp_path / "runs.parquet").to_pylist() == view.dicts()
    assert csv[0] == ",".join(view.columns)
    assert len(csv) == len(view) + 1 == 11


def test_a_failed_export_leaves_the_old_file_and_nothing_else(store, tmp_path):
    trial(store, tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "log").write_bytes(b"old")

    with pytest.raises(SessionNotFoundError):
        store.export("none", "pi", tmp_path / "out" / "log")
    with pytest.raises(InputError):
        store.export("e", "xml", tmp_path / "out" / "log")

    assert [path.name for path in (tmp_path / "out").iterdir()] == ["log"]
    assert (tmp_path / "out" / "log").read_bytes() == b"old"


def test_a_table_that_was_imported_comes_out_as_a_log_of_pis(store, tmp_path):
    path = tmp_path / "results.tsv"
    path.write_text("commit\tacc\tstatus\nab\t0.5\tkeep\ncd\tbad\tkeep\n")
    with store.experiment("e", create=True) as session:
        columns = {"commit": "commit", "metric": "acc", "status": "status"}
        session.import_log(TableLog(path, columns, direction="maximize"))

    config, run, aside = exported(store, tmp_path).splitlines()

    assert json.loads(config)["bestDirection"] == "higher"
    assert (json.loads(run)["metric"], json.loads(run)["commit"]) == (0.5, "ab")
    assert aside == b"cd\tbad\tkeep"


@pytest.mark.parametrize(("form", "name"), [("pi", "o"), ("fusion", "o.db"), ("csv", "o")])
def test_a_folder_that_is_not_there_is_a_storage_error(store, tmp_path, form, name):
    trial(store, tmp_path)

    with pytest.raises(StorageError):
        store.export("e", form, tmp_path / "none" / name)


def test_a_compacted_session_of_many_parts_comes_out_the_same(store, tmp_path):
    lines = [b'{"run":%d,"metric":%d,"status":"keep"}' % (n, n) for n in range(40)]
    path = write(tmp_path / "log", b"\n".join(lines) + b"\n")
    with store.experiment("e", create=True, seal_bytes=2_000, level="fast") as session:
        for end in range(5, 41, 5):
            write(path, b"\n".join(lines[:end]) + b"\n")
            session.import_log(PiLog(path))
    before = [exported(store, tmp_path, form=form) for form in ("pi", "fusion")]

    store.compact()

    assert [exported(store, tmp_path, form=form) for form in ("pi", "fusion")] == before
    assert before[0] == path.read_bytes()
    assert list((tmp_path / "store" / "e" / "journal").iterdir())


FUSION = """
select s.id, s.name, s.status, json_extract(s.metric, '$.name') as metric, count(r.id) as runs,
       min(json_extract(r.payload, '$.primaryMetric')) as best
from experiment_sessions s join experiment_session_records r on r.sessionId = s.id
where r.type = 'run' and json_extract(r.payload, '$.status') = 'keep' and s.bestRunId is not null
group by s.id
"""


def test_fusions_rows_are_read_by_a_query_written_for_fusion(store, tmp_path):
    trial(store, tmp_path)
    store.export("e", "fusion", tmp_path / "fusion.db")

    with sqlite3.connect(tmp_path / "fusion.db") as connection:
        rows = connection.execute(FUSION).fetchall()
        types = connection.execute(
            "select type, count(*) from experiment_session_records group by type order by type"
        ).fetchall()
        (pointer,) = connection.execute(
            "select r.payload from experiment_session_records r, experiment_sessions s where r.id = s.bestRunId"
        ).fetchone()

    assert rows == [("e", "e", "active", "ops", 3, 0)]
    assert types == [("config", 2), ("finalize", 1), ("hook", 1), ("run", 10)]
    assert json.loads(pointer)["commit"] == "abc1234"
    connection.close()


def test_fusions_rows_as_json_lines_are_those_of_the_tables(store, tmp_path):
    trial(store, tmp_path)
    store.export("e", "fusion", tmp_path / "fusion.db")

    lines = [json.loads(line) for line in content(exported(store, tmp_path, form="fusion"))]

    with sqlite3.connect(tmp_path / "fusion.db") as connection:
        connection.row_factory = sqlite3.Row
        for table in ("experiment_sessions", "experiment_session_records"):
            rows = [
                dict(row) for row in connection.execute(f"select * from {table} order by rowid")
            ]
            assert [{"table": table} | row for row in rows] == [
                line for line in lines if line["table"] == table
            ]
    connection.close()
