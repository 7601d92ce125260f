"""Public failures of reading logs in SQL, each with its own input."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import varvite
from varvite.errors import CorruptError
from varvite.experiment.session import Metric
from varvite.graph.session import GRAPH
from varvite.session.writer import Writer
from varvite.testing.mixed import append

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path):
    return varvite.open(tmp_path / "store")


@pytest.fixture
def graph(store):
    """A store with one empty graph session, g."""
    store.graph("g", create=True).close()
    return store


def fill(store, records, size=10_000):
    with store._folder() as folder, Writer(folder, "g", GRAPH, level="fast") as writer:
        for start in range(0, len(records), size):
            writer.append(records[start : start + size])


def test_c08_failure_27_a_key_that_comes_late_is_counted(graph):
    rows = [
        {"stream": "points", "n": n} | ({"late": n} if n >= 20_480 else {}) for n in range(30_000)
    ]
    fill(graph, rows)

    for _ in range(2):
        found = graph.sql(
            "select count(body ->> '$.late'), sum((body ->> '$.late')::bigint) from streams.points"
        )
        assert found.rows() == [(9_520, sum(range(20_480, 30_000)))]
        graph.compact()


def test_c08_failure_28_a_type_that_changes_late_keeps_both_values(graph):
    rows = [{"stream": "points", "v": n if n != 20_479 else "oops"} for n in range(20_600)]
    rows += [
        {"stream": "points", "v": value} for value in (1.5, True, None, [1], {"a": 1}, 2**63 - 1)
    ]
    fill(graph, rows)
    sql = "select body -> '$.v' as v from streams.points where seq >= 20479 order by seq"
    expected = [json.dumps(row["v"], separators=(",", ":")) for row in rows[20_478:]]

    before = graph.sql("describe streams.points").rows()
    for _ in range(2):
        assert [value for (value,) in graph.sql(sql).rows()] == expected
        assert graph.sql("describe streams.points").rows() == before
        graph.compact()


def test_c08_an_object_keyed_by_ids_stays_one_column(graph):
    rows = [
        {
            "stream": "nodes",
            "node_kind": "variable",
            "metadata": {"scores": {f"run_{n}": n}},
            "by": {f"id{n}": n},
        }
        for n in range(3_000)
    ]
    fill(graph, rows)
    before = graph.sql("describe nodes").rows()

    graph.compact()

    assert graph.sql("describe nodes").rows() == before
    ask = (
        "select metadata -> '$.scores' ->> '$.run_2999', body -> '$.by' ->> '$.id2999' from nodes "
        "where seq = 3000"
    )
    assert graph.sql(ask).rows() == [("2999", "2999")]


def test_c08_a_late_key_of_one_session_changes_no_column_of_another(graph):
    fill(graph, [{"stream": "points", "n": 1}])
    graph.compact()
    before = graph.sql("describe streams.points").rows()
    store = graph
    store.graph("h", create=True).close()
    append(store, "h", [{"stream": "points", "n": "text", "other": {"deep": [1]}}])

    for _ in range(2):
        assert store.sql("describe streams.points").rows() == before
        assert sorted(store.sql("select body from streams.points").rows()) == [
            ('{"n":"text","other":{"deep":[1]}}',),
            ('{"n":1}',),
        ]
        store.compact()


def lake(store):
    return Path(store.path) / "_lake"


def test_c16_half_written_files_that_no_manifest_lists_are_not_seen(graph):
    fill(graph, [{"stream": "events", "type": "noted"}] * 5)
    graph.compact()
    good = next((lake(graph) / "events").glob("*.parquet"))
    data = good.read_bytes()
    for name, content in (("0-0-aa", b""), ("0-0-bb", data[: len(data) // 2]), ("0-0-cc", data)):
        (good.parent / f"{name}.parquet").write_bytes(content)

    assert graph.sql("select count(*) from events").rows() == [(5,)]
    assert graph.compact().rows == 0
    assert graph.sql("select count(*) from events").rows() == [(5,)]


def test_c16_a_flipped_byte_in_a_data_page_is_named(graph):
    fill(graph, [{"stream": "events", "type": f"noted {n}"} for n in range(500)])
    graph.compact()
    good = next((lake(graph) / "events").glob("*.parquet"))
    data = bytearray(good.read_bytes())
    data[len(data) // 3] ^= 0x10
    good.write_bytes(data)

    with pytest.raises(CorruptError) as caught:
        graph.sql("select count(*) from events")

    assert caught.value.file == str(good)
    assert {finding.file for finding in graph.verify()} == {str(good)}


@pytest.mark.parametrize(
    "waits",
    [(0.02, 0.06, 0.12), pytest.param([n / 50 for n in range(20)], marks=pytest.mark.slow)],
    ids=["three", "twenty"],
)
def test_c16_a_compaction_that_is_killed_at_any_moment_counts_no_row_twice(graph, waits):
    total = 4_000
    fill(graph, [{"stream": "events", "type": f"noted {n}"} for n in range(total)])
    code = (
        "import sys, varvite; store = varvite.open(sys.argv[1]); store.sql('select 1');"
        "print('ready', flush=True); store.compact()"
    )

    for wait in waits:
        process = subprocess.Popen(
            [sys.executable, "-c", code, graph.path], stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        found = graph.sql("select count(*), count(distinct seq), max(seq) from events")
        assert found.rows() == [(total, total, total)]
    graph.compact()
    assert graph.sql("select count(*), count(distinct seq) from events").rows() == [(total, total)]
    assert graph.verify() == []


def test_c17_a_notebook_stays_where_it_was_while_others_write_compact_sweep_and_ask(graph):
    append(graph, "g", [{"stream": "events", "type": "first"}])
    graph.compact()
    notebook = graph.connect()

    for turn in range(6):
        append(graph, "g", [{"stream": "events", "type": f"noted {turn}"}])
        graph.compact()
        graph.gc(grace_hours=0)
        second = graph.connect()

        assert second.sql("select count(*) from events").fetchall() == [(turn + 2,)]
        assert graph.sql("select count(*) from events").rows() == [(turn + 2,)]
        assert notebook.sql("select type from events").fetchall() == [("first",)]
        second.close()
    notebook.close()


def test_c17_failure_22_no_database_file_holds_anything(graph):
    append(graph, "g", [{"stream": "events", "type": "noted"}])
    graph.compact()
    with graph.connect() as connection:
        connection.sql("select count(*) from events").fetchall()
        files = [name for _, _, names in os.walk(graph.path) for name in names]
        opened = [
            os.readlink(f"/proc/self/fd/{fd}")
            for fd in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{fd}")
        ]

    assert not [name for name in files if re.search(r"\.(duckdb|db|wal)$", name)]
    assert not [name for name in opened if name.endswith((".duckdb", ".db", ".wal"))]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_c19_failure_34_no_bad_number_is_ever_best_or_valid_baseline(store, direction):
    good = 9.5 if direction == "minimize" else 10.5
    lines = [
        ("keep", float("nan")),
        ("keep", None),
        ("keep", float("inf")),
        ("keep", float("-inf")),
        ("keep", 10),
        ("crash", 0),
        ("checks_failed", 1e9),
        ("discard", -1e9),
        ("keep", "1"),
        ("keep", good),
        ("keep", good),
        ("keep", float("nan")),
    ]
    with store.experiment("s", metric=Metric("m", "", direction), create=True) as session:
        for status, metric in lines:
            session.append_record({"type": "run", "status": status, "metric": metric})
        session.start(Metric("m", "", direction))
        session.append_record({"type": "run", "status": "keep", "metric": float("nan")})

        for _ in range(2):
            first, second = store.sql("from best_runs order by segment").dicts()
            assert (first["best_metric"], first["best_ordinal"]) == (good, 10)
            assert (first["baseline_ordinal"], first["baseline_metric"]) == (1, None)
            assert (first["baseline_valid_ordinal"], first["baseline_valid_metric"]) == (5, 10)
            assert first["best_id"] == session.best(1).id
            assert first["baseline_valid_id"] == session.baseline_valid(1).id
            assert (second["best_id"], second["baseline_valid_id"]) == (None, None)
            assert second["baseline_id"] == session.baseline(2).id
            store.compact()
    states = store.sql("select metric_state from runs order by seq").rows()
    assert [state for (state,) in states] == [
        "nan",
        "missing",
        "infinite",
        "infinite",
        "finite",
        "finite",
        "finite",
        "finite",
        "not_a_number",
        "finite",
        "finite",
        "nan",
        "nan",
    ]
    journal = Path(store.path, "s", "events.ndjson").read_text()
    assert not re.search(r"\b(NaN|Infinity)\b", journal)


def test_c19_an_unknown_status_of_a_followed_log_is_no_keep(store, tmp_path):
    from varvite.adapters.pi_log import PiLog

    log = tmp_path / "log.jsonl"
    lines = [{"run": 1, "status": "keep", "metric": 10}, {"run": 2, "status": "kept?", "metric": 1}]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with store.experiment("s", create=True) as session:
        session.import_log(PiLog(log))

    assert store.sql("select best_metric, kept, runs from best_runs").rows() == [(10, 1, 2)]
    assert store.sql("select status, status_raw from runs where seq = 3").rows() == [
        ("unknown", "kept?")
    ]


def test_c23_a_key_appended_fourteen_times_is_one_row(graph):
    for _ in range(14):
        with graph._folder() as folder, Writer(folder, "g", GRAPH) as writer:
            writer.append([{"stream": "events", "type": "noted"}], key="the same")

    assert graph.sql("select count(*) from records").rows() == [(1,)]


def test_c23_rows_of_a_forked_session_can_be_told_from_those_it_copied(store):
    """A copy under another name is refused; a fork by records has a uid of its own."""
    for name in ("one", "two"):
        store.graph(name, create=True).close()
        append(store, name, [{"stream": "events", "type": "shared", "id": "e1"}])
    append(store, "two", [{"stream": "events", "type": "own", "id": "e2"}])

    found = store.sql("select count(*), count(distinct id) from events").rows()
    assert found == [(3, 2)]
    shutil.copytree(f"{store.path}/two", f"{store.path}/three")
    with pytest.raises(CorruptError, match="is a copy of"):
        store.sql("select count(*) from events")


def test_failure_28_bad_lines_are_never_skipped_in_silence(graph):
    for file in [*(ROOT / "src").rglob("*.py"), *(ROOT / "sql").rglob("*.sql")]:
        code = "\n".join(line.split("#")[0] for line in file.read_text().splitlines())
        code = re.sub(r'"""(?s:.*?)"""', "", code)
        assert not re.search(r"ignore_errors|read_json_auto|union_by_name\s*=\s*false", code), file
