"""A row in a segment is the record of the journal, value by value."""

import random
from contextlib import closing

import pytest

from varvite.errors import InvalidRecordError
from varvite.segments import compact as compaction
from varvite.segments import manifest, scan
from varvite.segments.compact import compact


def test_every_stream_of_every_session_is_in_segments_row_by_row(lab, nodes):
    edges = [
        {"stream": "edges", "id": f"e{n}", "edge_kind": "cites", "src": "a", "dst": "b"}
        for n in range(50)
    ]
    lab.create("one", nodes(120) + edges)
    lab.create("two", edges + nodes(80))

    receipt = compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()
    assert receipt.rows == 300


def test_every_kind_of_value_comes_through(lab):
    odd = [
        {"title": ""},
        {"title": None},
        {"title": 'tab\there \u0000 nul \u2028 line \U0001f600 \\ " end'},
        {"score": -0.0},
        {"score": 5e-324},
        {"score": 1.7976931348623157e308},
        {"score": 3},
        {"bucket_ids": []},
        {"bucket_ids": ["a", "", "\u00e9"]},
        {"metadata": {}},
        {"metadata": []},
        {"metadata": {"deep": [[[{"k": None}]]], "e": 1e-7, "big": 9223372036854775807}},
        {"metadata": None},
        {"unknown": None},
        {"unknown": 0.1, "Title": "other case", "session_id": "own", "body": {"x": [1, "1", True]}},
        {"unknown": -9223372036854775808},
        {"": "empty key", "a b": 1, 'quo"te': 2, "back\\slash": 3, "\u00fc": 4},
    ]
    lab.create(
        "odd",
        [
            {"stream": "nodes", "id": f'i"\\\u00e9{n}', "node_kind": "paper"} | fields
            for n, fields in enumerate(odd)
        ],
    )

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()


def test_every_moment_that_append_takes_is_a_time_in_segments(lab):
    moments = [
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "2024-02-29T23:59:59.1Z",
        "9999-12-31T23:59:59.999999Z",
    ]
    run = {"stream": "records", "type": "run", "segment": 1}
    lab.create("s", [run | {"logged_at": moment} for moment in moments])

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()


@pytest.mark.parametrize(
    "moment", ["2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "0000-01-01T00:00:00Z"]
)
def test_a_moment_that_would_stop_compaction_is_refused_at_append(lab, moment):
    run = {"stream": "records", "type": "run", "segment": 1, "logged_at": moment}

    with pytest.raises(InvalidRecordError, match="logged_at"):
        lab.create("s", [run])


def test_a_stream_without_contract_keeps_all_its_fields_as_json(lab):
    records = [
        {"stream": "votes", "id": "a", "v": 1},
        {"stream": "votes", "id": "a", "v": "oops", "nested": {"k": [None, 1.5]}},
        {"stream": "votes"},
    ]
    lab.create("s", records)

    compact(lab.store)

    rows = lab.segment_rows()["votes"]
    assert rows == lab.journal_rows()["votes"]
    assert [row["body"] for row in rows] == [
        {"v": 1},
        {"v": "oops", "nested": {"k": [None, 1.5]}},
        None,
    ]
    assert [row["prev_seq"] for row in rows] == [None, 1, None]


@pytest.mark.parametrize("name", ["tmp", "pins", "manifests", "latest", "lock"])
def test_a_stream_may_have_the_name_of_one_of_our_own_folders(lab, name):
    lab.create("s", [{"stream": name, "id": "a"}])

    compact(lab.store)
    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()


def test_a_key_that_appears_late_loses_no_value(lab, nodes):
    late = [one | ({"late": n} if n >= 2048 else {}) for n, one in enumerate(nodes(3000))]
    lab.create("s", late, batch=1000)

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()
    assert sum(row["body"] is not None for row in lab.segment_rows()["nodes"]) == 952


def test_a_type_that_changes_late_keeps_both_values(lab, nodes):
    mixed = [one | {"v": n if n < 2000 else "oops"} for n, one in enumerate(nodes(2100))]
    lab.create("s", mixed, batch=1000)

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()


def test_objects_keyed_by_ids_stay_one_column(lab, nodes):
    keyed = [
        one | {"metadata": {f"run_{n}": n}, "scores": {f"run_{n}": 1}}
        for n, one in enumerate(nodes(3000))
    ]
    lab.create("s", keyed, batch=1000)

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()


def test_random_values_come_through(lab):
    rng = random.Random(7)

    def value(depth=0):
        pick = rng.randrange(8 if depth < 3 else 6)
        return [
            None,
            rng.random() * 10 ** rng.randrange(-300, 300),
            rng.randrange(-(2**63), 2**63),
            rng.random() < 0.5,
            "".join(
                map(
                    chr,
                    (
                        rng.choice([*range(32, 127), 233, 0x4E2D, 0x1F600, 9, 10, 0])
                        for _ in range(rng.randrange(9))
                    ),
                )
            ),
            str(rng.random()),
            [value(depth + 1) for _ in range(rng.randrange(4))] if pick == 6 else {},
            {f"k{rng.randrange(5)}": value(depth + 1) for _ in range(rng.randrange(4))}
            if pick == 7
            else {},
        ][pick]

    records = [
        {
            "stream": "nodes",
            "id": f"n{n}",
            "node_kind": "paper",
            "score": rng.random(),
            "metadata": {"v": value()},
            "x": value(),
        }
        for n in range(400)
    ]
    lab.create("s", records)

    compact(lab.store)

    assert lab.segment_rows() == lab.journal_rows()


def test_a_row_is_the_same_before_and_after_compaction(lab, nodes):
    lab.create("s", nodes(50, extra={"a": 1e5}, metadata={"z": 0.1, "a": [1, 2]}) + nodes(50))
    owner = scan.Owner("s", lab.uid("s"))

    compact(lab.store)

    [segment] = manifest.load(lab.store).segments
    with closing(scan.connect()) as con, scan.spooled(scan.lines(owner, lab.lines("s"))) as path:
        before = con.sql(f"select * from ({scan.select('nodes', path)}) order by seq")
        rows, types = before.fetchall(), [str(kind) for kind in before.types]
        after = con.sql(f"select * from read_parquet('{manifest.path_of(lab.store, segment)}')")
        assert after.columns == list(scan.columns("nodes"))
        assert (after.fetchall(), [str(kind) for kind in after.types]) == (rows, types)


def test_rows_are_sorted_by_session_and_seq(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.chunks.CHUNK_BYTES", 5_000)
    lab.create("b", nodes(100), batch=7)
    lab.create("a", nodes(100, extra=1), batch=7)

    compact(lab.store)

    with closing(scan.connect()) as con:
        for segment in manifest.load(lab.store).segments:
            path = manifest.path_of(lab.store, segment)
            keys = con.sql(f"select session_id, seq from read_parquet('{path}')").fetchall()
            assert keys == sorted(keys)
    assert lab.segment_rows() == lab.journal_rows()


def test_compacting_again_does_nothing(lab, nodes):
    lab.create("s", nodes(10))
    compact(lab.store)
    before = sorted(path for path in lab.path.rglob("*"))

    receipt = compact(lab.store)

    assert (receipt.rows, receipt.generation_before, receipt.generation_after) == (0, 1, 1)
    assert sorted(path for path in lab.path.rglob("*")) == before


def test_a_dry_run_foresees_and_touches_nothing(lab, nodes):
    lab.create("s", nodes(10))
    before = sorted(lab.path.rglob("*"))

    receipt = compact(lab.store, dry_run=True)

    assert (receipt.rows, receipt.dry_run) == (10, True)
    assert sorted(lab.path.rglob("*")) == before


def test_only_what_is_new_is_compacted(lab, nodes):
    lab.create("s", nodes(10))
    compact(lab.store)
    lab.append("s", nodes(5))

    receipt = compact(lab.store)

    assert receipt.rows == 5
    assert lab.segment_rows() == lab.journal_rows()


def test_compaction_loads_no_pandas(lab, nodes):
    import subprocess
    import sys

    lab.create("s", nodes(300, extra=1))
    code = (
        "import sys; from varvite.disk.files import Files, Folder;"
        "from varvite.segments.compact import compact;"
        f"compact(Folder(Files(), {str(lab.path)!r})); print('pandas' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_memory_does_not_follow_the_history(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.chunks.CHUNK_BYTES", 20_000)
    lab.create("s", nodes(2000))
    held = []
    write = compaction.write
    monkeypatch.setattr(
        compaction,
        "write",
        lambda lake, one, *rest: held.append(one.bytes) or write(lake, one, *rest),
    )

    compact(lab.store)

    assert max(held) < 20_000 + 100 * 400
    assert lab.segment_rows() == lab.journal_rows()
