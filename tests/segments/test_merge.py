"""Merging keeps files few, rewrites each row a logarithmic number of times, and loses none."""

import math

from varvite.segments import manifest
from varvite.segments.compact import compact


def test_many_small_compactions_leave_few_files_and_rewrite_little(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 3)
    lab.create("s", nodes(2))
    rewritten, runs = 0, 20
    for _ in range(runs):
        lab.append("s", nodes(2))
        rewritten += compact(lab.store).rows_merged

    segments = manifest.load(lab.store).segments
    rows = sum(one.rows for one in segments)
    assert rows == 2 * (runs + 1)
    assert len(segments) <= 2 * (1 + math.log(runs, 3))
    assert rewritten <= rows * math.log(runs, 3)
    assert lab.segment_rows() == lab.journal_rows()


def test_sessions_that_come_and_go_stay_sorted_through_merges(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 3)
    monkeypatch.setattr("varvite.segments.merging.READ_ROWS", 4)
    for name in ("b", "d"):
        lab.create(name, nodes(11))
    for turn, name in enumerate(["a", "b", "c", "d", "b", "a", "d", "c", "b"]):
        (lab.append if (lab.path / name).exists() else lab.create)(
            name, nodes(5 + turn, extra=turn)
        )
        compact(lab.store)

    assert max(one.tier for one in manifest.load(lab.store).segments) == 2
    assert lab.segment_rows() == lab.journal_rows()
    import pyarrow.parquet as pq

    for one in manifest.load(lab.store).segments:
        keys = pq.read_table(
            manifest.path_of(lab.store, one), columns=["session_id", "seq"]
        ).to_pylist()
        assert keys == sorted(keys, key=lambda row: (row["session_id"], row["seq"]))


def test_spans_say_what_a_segment_holds(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 2)
    lab.create(
        "a", [*nodes(3), {"stream": "edges", "id": "e", "edge_kind": "x", "src": "a", "dst": "b"}]
    )
    compact(lab.store)
    lab.append("a", nodes(2))
    compact(lab.store)

    found = {one.stream: one for one in manifest.load(lab.store).segments}
    uid = lab.uid("a")
    assert dict(found["nodes"].sessions) == {uid: manifest.Span(1, 6, 5)}
    assert dict(found["edges"].sessions) == {uid: manifest.Span(4, 4, 1)}
    assert (found["nodes"].tier, found["edges"].tier) == (1, 0)


def test_a_merge_refuses_a_damaged_segment_and_publishes_nothing(lab, nodes, monkeypatch):
    import pytest

    from varvite.errors import CorruptError

    lab.create("a", nodes(50))
    compact(lab.store)
    lab.append("a", nodes(50))
    compact(lab.store)
    [first, _] = manifest.load(lab.store).segments
    lab.flip(first, byte=first.bytes // 2)
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 2)

    with pytest.raises(CorruptError, match="1-0-"):
        compact(lab.store)

    assert manifest.load(lab.store).generation == 2


def test_an_older_segment_gets_the_columns_that_came_since(lab, nodes, monkeypatch):
    from varvite.records import contracts
    from varvite.segments import writing

    with monkeypatch.context() as older:
        columns = {k: v for k, v in contracts.stream_columns("nodes").items() if k != "title"}
        older.setattr("varvite.segments.scan.stream_columns", lambda _: columns)
        older.setattr("varvite.segments.proving.stream_columns", lambda _: columns)
        writing.schema.cache_clear()
        lab.create("a", nodes(5))
        compact(lab.store)
    writing.schema.cache_clear()
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 2)
    lab.append("a", nodes(5, title="t"))

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()
