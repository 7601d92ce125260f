"""The views against a plain reading of the journal, before and after compaction."""

from datetime import datetime
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from varvite.disk.files import Files, Folder
from varvite.query import relations
from varvite.query.snapshot import Snapshot
from varvite.records.contracts import stream_columns
from varvite.segments.scan import columns, connect
from varvite.testing import mixed

SESSIONS = ("followed", "nothing", "odd", "search", "speed", "tuning")
ENVELOPE = ("seq", "stream", "id", "rev", "prev_seq", "at", "actor")


@pytest.fixture(params=["fresh", "layered"])
def either(request):
    return request.getfixturevalue(request.param)


def written(store, journal):
    """Every record of the store as its journals have it."""
    return {
        (name, record["seq"]): record
        for name in SESSIONS
        for _, records in journal(store, name)
        for record in records
    }


def moment(text):
    return datetime.fromisoformat(text)


def test_records_are_the_journals_lines(either, journal):
    lines = written(either, journal)

    rows = either.sql("select * exclude (session_uid) from records").dicts()

    assert len(rows) == len(lines)
    for row in rows:
        record = dict(lines[row.pop("session_id"), row["seq"]])
        body = orjson.loads(row.pop("body"))
        own = {name: value for name, value in record.items() if name not in ENVELOPE}
        row["at"] = row.pop("committed_at")
        assert row == {name: record[name] for name in ENVELOPE} | {"at": moment(record["at"])}
        known = stream_columns(record["stream"])
        assert body == {
            name: own[name] for name in own if own[name] is not None or name not in known
        }


def test_the_raw_relations_have_every_field_of_every_record(either, journal):
    lines = written(either, journal)
    streams = {record["stream"] for record in lines.values()}

    for stream in streams:
        for row in either.sql(f"from streams.{stream}").dicts():
            record = lines[row["session_id"], row["seq"]]
            for name, kind in stream_columns(stream).items():
                assert typed(row[name]) == typed(record.get(name), kind), (stream, name)
            rest = {name: record[name] for name in record if name not in stream_columns(stream)}
            assert orjson.loads(row["body"] or "{}") == rest


def typed(value, kind=None):
    """A value as its column has it."""
    if kind == "VARCHAR" and isinstance(value, dict | list):
        return orjson.dumps(value).decode()
    if kind == "TIMESTAMPTZ" and value is not None:
        return moment(value)
    return value


@pytest.mark.parametrize(
    ("view", "stream"), [("nodes", "nodes"), ("edges", "edges"), ("frontier", "frontier")]
)
def test_a_view_of_what_stands_has_the_last_revision_of_each_id(either, journal, view, stream):
    latest = {
        (name, record["id"]): record["seq"]
        for (name, _), record in sorted(written(either, journal).items())
        if record["stream"] == stream
    }

    rows = either.sql(f"select session_id, id, seq, rev from {view}").rows()

    assert {(name, record_id): seq for name, record_id, seq, _ in rows} == latest
    assert len(rows) == len(latest)
    assert max(rev for *_, rev in rows) > 0


def test_node_revisions_are_all_of_them(either, journal):
    seqs = [
        (name, seq)
        for (name, seq), record in written(either, journal).items()
        if record["stream"] == "nodes"
    ]

    rows = either.sql("select session_id, seq from node_revisions").rows()

    assert sorted(rows) == sorted(seqs)


def test_the_payload_of_an_experiment_record_loses_nothing(either, journal):
    aliases = {"metric_name": "metricName", "metric_unit": "metricUnit"}
    shown = {"status", "metric", "metrics", "commit", "description", "name", "direction"}

    rows = either.sql("select sessionId, seq, payload from experiment_session_records").rows()

    lines = written(either, journal)
    assert len(rows) == sum(record["stream"] == "records" for record in lines.values())
    for name, seq, text in rows:
        record, payload = lines[name, seq], orjson.loads(text)
        given = record.get("payload") or {}
        expected = given if isinstance(given, dict) else {"payload": given}
        expected |= {key: record[key] for key in record if key not in stream_columns("records")}
        for column in shown | aliases.keys():
            if record.get(column) is not None:
                expected[aliases.get(column, column)] = record[column]
        assert payload == expected


def test_a_session_is_named_titled_and_stands_as_its_journal_says(either, journal):
    rows = either.sql("select session_id, kind, title, cursor, status from sessions").rows()

    ends = {name: (journal(either, name) or [(0,)])[-1][0] for name in SESSIONS}
    assert {row[0]: row[3] for row in rows} == ends
    assert {row[0]: row[4] for row in rows if row[4] != "active"} == {"speed": "finalized"}
    assert {row[0]: row[1] for row in rows}["odd"] == "graph"
    assert next(row[2] for row in rows if row[0] == "nothing") == "no record"


def test_segments_are_those_of_the_manifest_and_none_without_one(fresh, layered):
    assert fresh.sql("from segments").rows() == []
    found = layered.sql("select stream, rows, generation from segments").rows()
    assert {generation for *_, generation in found} == {3}
    assert (
        sum(rows for _, rows, _ in found)
        == layered.sql(
            "select count(*) from records where not (session_id = 'odd' and seq > $seq)",
            {
                "seq": layered.sql(
                    "select max(cursor) - 2 from sessions where session_id = 'odd'"
                ).rows()[0][0]
            },
        ).rows()[0][0]
    )


def test_a_session_asked_alone_shows_the_segments_with_its_rows(layered):
    found = layered.sql("select distinct stream from segments", sessions=["speed"]).rows()

    assert sorted(found) == [("events",), ("records",)]


def test_a_tail_that_is_kept_for_many_statements_has_the_rows_of_one_that_is_read_each_time(fresh):
    with Folder(Files(), fresh.path) as folder, Snapshot(folder) as kept:
        kept.keep_tail()

        for stream in sorted(kept.streams()):
            found = kept.ask(f'from streams."{stream}" order by all').arrow()
            assert found == fresh.sql(f'from streams."{stream}" order by all').arrow(), stream
        tables = kept.con.sql("select table_name from duckdb_tables() where schema_name = 'tail'")
        assert {("nodes",), ("weather",)} <= {*tables.fetchall()}


@pytest.mark.parametrize("tail", [False, True])
def test_segments_that_all_are_an_older_versions_are_null_in_what_they_lack(store, tail):
    store.graph("g", create=True).close()
    mixed.append(store, "g", [{"stream": "events", "type": "noted", "payload": {}}])
    store.compact()
    (path,) = Path(store.path).glob("_lake/events/*.parquet")
    pq.write_table(pq.read_table(path).drop_columns(["payload", "actor"]), path)
    if tail:
        mixed.append(store, "g", [{"stream": "events", "type": "read", "payload": {}}])

    with (
        Folder(Files(), store.path) as folder,
        Snapshot(folder, verify=lambda *_: None) as snapshot,
    ):
        found = snapshot.ask("select type, payload, actor is null from events order by seq")

    assert found.rows() == [("noted", None, True), ("read", "{}", False)][: 1 + tail]


def test_a_segment_of_an_older_version_is_null_in_the_columns_that_it_lacks(tmp_path):
    older = {"seq": [1], "id": ["e"], "session_id": ["s"], "type": ["noted"], "gone": [True]}
    newer = {"type": ["noted"], "payload": ["{}"], "seq": [2], "id": ["f"], "session_id": ["s"]}
    paths = [str(tmp_path / name) for name in ("older", "newer")]
    for path, table in zip(paths, (older, newer), strict=True):
        pq.write_table(pa.table(table), path)

    with connect() as connection:
        found = connection.sql(relations.relation("events", paths, None))

        assert found.columns == list(columns("events"))
        assert found.select("seq, id, type, payload, actor").order("seq").fetchall() == [
            (1, "e", "noted", None, None),
            (2, "f", "noted", "{}", None),
        ]
