"""Verify finds what is damaged, names the file, and says nothing of what is whole."""

import shutil
import tracemalloc
from dataclasses import replace

import pytest

from varvite.disk.files import PIECE_BYTES
from varvite.segments import manifest as manifests
from varvite.segments import verify_session
from varvite.segments.compact import compact
from varvite.segments.verify import verify
from varvite.session.rebuild import rebuild
from varvite.session.writer import Writer


def found(lab, **options):
    return [
        (one.file.removeprefix(f"{lab.path}/"), one.code) for one in verify(lab.fresh(), **options)
    ]


@pytest.fixture
def filled(lab, nodes):
    edges = [{"stream": "edges", "id": "e", "edge_kind": "x", "src": "a", "dst": "b"}]
    lab.create("one", nodes(60, extra=1) + edges, batch=10, seal_bytes=3_000)
    lab.create("two", nodes(30))
    compact(lab.store)
    lab.append("one", nodes(40), batch=10, seal_bytes=3_000)
    return lab


def flip(path, byte):
    data = bytearray(path.read_bytes())
    data[byte] ^= 4
    path.write_bytes(data)


def test_a_whole_store_has_no_findings(filled):
    assert found(filled) == []
    assert found(filled, deep=True, kind_of=lambda _: filled.kind) == []


def test_a_store_beside_a_live_writer_has_no_findings(filled, nodes):
    with Writer(filled.store, "two", filled.kind, level="fast") as writer:
        writer.append(nodes(5))

        assert found(filled, deep=True, kind_of=lambda _: filled.kind) == []


def test_verify_changes_no_byte(filled):
    before = {path: path.read_bytes() for path in filled.path.rglob("*") if path.is_file()}

    verify(filled.fresh(), deep=True, kind_of=lambda _: filled.kind)

    assert {path: path.read_bytes() for path in filled.path.rglob("*") if path.is_file()} == before


def test_a_flipped_bit_in_any_kind_of_file_is_found_by_name(filled, tmp_path):
    whole = shutil.copytree(filled.path, tmp_path / "whole")
    [edges] = (filled.path / "_lake" / "edges").iterdir()
    archived, sealed = (
        max((filled.path / "one" / "journal").glob(end)) for end in ("*.zst", "*.ndjson")
    )
    expected = {
        filled.path / "one" / "session.json": "corrupt",
        filled.path / "one" / "events.ndjson": "corrupt",
        archived: "corrupt",
        sealed: "corrupt",
        filled.path / "one" / "nodes.jsonl": "stale",
        filled.path / "one" / "state.json": "corrupt",
        edges: "corrupt",
        filled.path
        / "_lake"
        / "manifests"
        / f"{manifests.latest(filled.store):020d}.json": "corrupt",
    }

    for path, code in expected.items():
        filled.put_back(whole)
        flip(path, path.stat().st_size // 2)
        assert (str(path.relative_to(filled.path)), code) in found(filled), path


def test_every_damaged_part_is_named_not_only_the_first(filled):
    sealed = sorted((filled.path / "one" / "journal").iterdir())
    for path in (sealed[0], sealed[2]):
        flip(path, path.stat().st_size // 2)

    names = [file for file, code in found(filled) if code == "corrupt"]

    assert {str(path.relative_to(filled.path)) for path in (sealed[0], sealed[2])} <= set(names)


def test_files_that_no_manifest_lists_are_orphans_and_no_rows(filled):
    lake = filled.path / "_lake" / "nodes"
    [good] = lake.iterdir()
    data, before = good.read_bytes(), filled.segment_rows()
    (lake / "0-0-aa.parquet").write_bytes(b"")
    (lake / "0-0-bb.parquet").write_bytes(data[: len(data) // 2])
    (lake / "0-0-cc.parquet").write_bytes(data)

    assert found(filled) == [
        (f"_lake/nodes/0-0-{tag}.parquet", "orphan") for tag in ("aa", "bb", "cc")
    ]
    assert filled.segment_rows() == before


def test_missing_files_are_named(filled):
    [edges] = (filled.path / "_lake" / "edges").iterdir()
    edges.unlink()
    shutil.rmtree(filled.path / "two" / "index")
    part = sorted((filled.path / "one" / "journal").iterdir())[1]
    part.unlink()

    assert {("two/index", "missing"), (f"_lake/edges/{edges.name}", "corrupt")} < set(found(filled))
    assert any(file.startswith("one/journal/") for file, _ in found(filled))


def test_a_copied_session_is_told_from_its_original(filled):
    shutil.copytree(filled.path / "two", filled.path / "twin")

    assert found(filled) == [("two/session.json", "copy")] or found(filled) == [
        ("twin/session.json", "copy")
    ]


def test_a_journal_put_back_to_an_older_state_is_found(filled, nodes, tmp_path):
    old = shutil.copytree(filled.path / "two", tmp_path / "old")
    filled.append("two", nodes(7))
    compact(filled.store)
    shutil.rmtree(filled.path / "two")
    shutil.copytree(old, filled.path / "two")

    assert ("two/events.ndjson", "foreign") in found(filled)


def test_deep_finds_a_segment_that_differs_from_the_journal(filled, nodes, monkeypatch):
    from varvite.segments import chunks

    scanned = chunks.scanned

    def other(connection, gathered):
        table = scanned(connection, gathered)
        titles = table["id"].slice(1).combine_chunks()
        last = table["id"].slice(0, 1).combine_chunks()
        import pyarrow as pa

        return table.set_column(
            table.column_names.index("title"), "title", pa.chunked_array([titles, last])
        )

    monkeypatch.setattr(chunks, "scanned", other)
    monkeypatch.setattr("varvite.segments.proving.samples", lambda *_: None)
    filled.append("two", nodes(5))
    compact(filled.store)
    monkeypatch.undo()

    assert found(filled) == []
    assert [code for _, code in found(filled, deep=True)] == ["corrupt"]


def test_only_named_sessions_are_read(filled):
    flip(filled.path / "one" / "session.json", 60)

    assert found(filled, session_ids=["two"]) == []
    assert found(filled, session_ids=["one"]) == [("one/session.json", "corrupt")]


def test_what_is_held_does_not_grow_with_the_history(lab, nodes):
    """A part of the journal and a piece of a file are held, never a stream file or an index."""
    kind = replace(
        lab.kind, fold=lambda records, _read: [("seen", one["id"], bytes(200)) for one in records]
    )
    lab.create("short", nodes(500), batch=50, seal_bytes=20_000)
    lab.create("long", nodes(20_000), batch=50, seal_bytes=20_000)
    peaks = {}

    for name in ("short", "long"):
        rebuild(lab.store, name, kind)
        tracemalloc.start()
        assert found(lab, session_ids=[name], deep=True, kind_of=lambda _: kind) == []
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert (lab.path / "long" / "nodes.jsonl").stat().st_size > 2 * PIECE_BYTES
    assert peaks["long"] < peaks["short"] + 2.5 * PIECE_BYTES


def test_an_index_that_a_live_writer_brings_further_meanwhile_has_no_finding(
    lab, nodes, monkeypatch
):
    lab.create("one", nodes(20))
    with Writer(lab.store, "one", lab.kind, level="fast") as writer:
        monkeypatch.setattr(verify_session, "_state", lambda *_: writer.append(nodes(5)) and [])

        assert found(lab, deep=True, kind_of=lambda _: lab.kind) == []
