"""Only gc deletes, and only what no manifest lists, no reader pins and no grace keeps."""

import os
import subprocess
import sys

import pytest

from varvite.errors import SessionLockedError, SessionNotFoundError
from varvite.segments import manifest as manifests
from varvite.segments.compact import compact
from varvite.segments.delete import delete
from varvite.segments.pins import pinned
from varvite.segments.sweep import gc
from varvite.session.writer import Writer


@pytest.fixture
def merged(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 3)
    lab.create("s", nodes(10))
    for _ in range(3):
        compact(lab.store)
        lab.append("s", nodes(10))
    return lab


def parquet(lab):
    return sorted(
        str(path.relative_to(lab.path / "_lake"))
        for path in (lab.path / "_lake").rglob("*.parquet")
    )


def listed(lab):
    return sorted(one.path for one in manifests.load(lab.store).segments)


def test_within_the_grace_period_nothing_goes(merged):
    before = parquet(merged)

    swept = gc(merged.store)

    assert (swept.segments, swept.generations, parquet(merged)) == (0, 0, before)
    assert len(before) == 4


def test_beyond_it_only_the_newest_generation_stays(merged):
    rows = merged.segment_rows()

    swept = gc(merged.store, grace_hours=0)

    assert parquet(merged) == listed(merged)
    assert (swept.segments, swept.generations) == (3, 3)
    assert swept.bytes_freed > 0
    assert merged.segment_rows() == rows


def test_a_dry_run_counts_and_removes_nothing(merged):
    before = parquet(merged)

    foreseen = gc(merged.store, grace_hours=0, dry_run=True)

    assert parquet(merged) == before
    assert foreseen.segments == gc(merged.store, grace_hours=0).segments == 3


def test_a_pinned_generation_keeps_its_files_until_the_pin_goes(merged, nodes):
    with pinned(merged.fresh()) as manifest:
        for _ in range(3):
            merged.append("s", nodes(5))
            compact(merged.store)
        rows = merged.segment_rows(manifest)

        gc(merged.store, grace_hours=0)

        assert {one.path for one in manifest.segments} <= set(parquet(merged))
        assert manifests.load_generation(merged.store, manifest.generation) == manifest
        assert merged.segment_rows(manifest) == rows

    gc(merged.store, grace_hours=0)
    assert parquet(merged) == listed(merged)
    assert list((merged.path / "_lake" / "pins").iterdir()) == []


def test_a_pin_that_comes_while_manifests_are_removed_is_honoured(merged, nodes, monkeypatch):
    from varvite.segments import pins

    merged.append("s", nodes(5))
    first, held = manifests.load_generation(merged.store, 1), []
    look = pins.generations

    def late(lake):
        found = look(lake)
        if not held:
            with monkeypatch.context() as then:
                then.setattr(manifests, "load", lambda _: first)
                held.append(pinned(merged.fresh()))
                held[0].__enter__()
        return found

    monkeypatch.setattr(pins, "generations", late)
    gc(merged.store, grace_hours=0)

    assert manifests.load_generation(merged.store, 1) == first
    assert {one.path for one in first.segments} <= set(parquet(merged))
    held[0].__exit__(None, None, None)


def test_the_pin_of_a_killed_reader_is_dead(merged, nodes):
    code = (
        "import os, sys; from varvite.disk.files import Files, Folder;"
        "from varvite.segments.pins import pinned;"
        f"pin = pinned(Folder(Files(), {str(merged.path)!r})); pin.__enter__(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list((merged.path / "_lake" / "pins").iterdir())) == 1
    merged.append("s", nodes(5))
    compact(merged.store)

    swept = gc(merged.store, grace_hours=0)

    assert (swept.pinned, parquet(merged)) == (0, listed(merged))
    assert list((merged.path / "_lake" / "pins").iterdir()) == []


def test_a_reader_without_permission_reads_without_a_pin(merged):
    pins = merged.path / "_lake" / "pins"
    pins.write_bytes(b"in the way")

    with pinned(merged.fresh()) as manifest:
        assert manifest == manifests.load(merged.store)


def test_what_a_killed_compaction_left_goes_and_foreign_files_stay(merged):
    lake = merged.path / "_lake"
    (lake / "nodes" / "9-0-abcd.parquet").write_bytes(b"half")
    (lake / "nodes" / "notes.txt").write_bytes(b"mine")
    (lake / "damaged").mkdir()
    (lake / "damaged" / "nodes-1-0-ab.parquet").write_bytes(b"kept")

    gc(merged.store)
    assert (lake / "nodes" / "9-0-abcd.parquet").exists()
    gc(merged.store, grace_hours=0)

    assert not (lake / "nodes" / "9-0-abcd.parquet").exists()
    assert (lake / "nodes" / "notes.txt").exists()
    assert (lake / "damaged" / "nodes-1-0-ab.parquet").exists()


def test_a_deleted_session_is_out_of_every_view_at_once(merged, nodes):
    merged.create("other", nodes(7))
    compact(merged.store)
    kept = {one["session_id"] for one in merged.segment_rows()["nodes"]}

    done = delete(merged.store, "s")

    assert kept == {"s", "other"}
    assert (done.session, done.records) == ("s", 40)
    assert merged.segment_rows() == merged.journal_rows()
    assert {one["session_id"] for one in merged.segment_rows()["nodes"]} == {"other"}
    assert not (merged.path / "s").exists()


def test_its_bytes_go_with_gc_after_the_grace_period(merged, nodes):
    merged.create("other", nodes(7, title="kept"))
    merged.append("s", nodes(3, title="a secret"))
    compact(merged.store)
    delete(merged.store, "s")

    gc(merged.store)
    assert len(list((merged.path / "_trash").iterdir())) == 1
    swept = gc(merged.store, grace_hours=0)

    assert (swept.sessions, list((merged.path / "_trash").iterdir())) == (1, [])
    assert swept.rows_purged == 43
    assert parquet(merged) == listed(merged)
    assert merged.segment_rows() == merged.journal_rows()
    [one] = manifests.load(merged.store).segments
    assert (set(one.sessions), manifests.load(merged.store).deleted) == ({merged.uid("other")}, {})


def test_a_compaction_under_way_does_not_bring_a_deleted_session_back(merged, nodes, monkeypatch):
    from varvite.segments import compact as compaction

    merged.create("gone", nodes(5))
    write = compaction.write

    def meanwhile(*given):
        made = write(*given)
        monkeypatch.undo()
        delete(merged.fresh(), "gone")
        return made

    monkeypatch.setattr(compaction, "write", meanwhile)
    compact(merged.store)
    compact(merged.store)

    assert merged.segment_rows() == merged.journal_rows()
    assert "gone" not in {one["session_id"] for one in merged.segment_rows()["nodes"]}


def test_a_name_is_free_again_once_its_session_is_deleted(merged, nodes):
    compact(merged.store)
    delete(merged.store, "s")
    merged.create("s", nodes(4, title="new"))
    compact(merged.store)

    assert merged.segment_rows() == merged.journal_rows()
    gc(merged.store, grace_hours=0)
    assert merged.segment_rows() == merged.journal_rows()
    assert manifests.load(merged.store).deleted == {}


def test_a_session_that_is_being_written_is_not_deleted(merged):
    with Writer(merged.store, "s", merged.kind), pytest.raises(SessionLockedError):
        delete(merged.fresh(), "s")

    assert merged.segment_rows() != {}


def test_deleting_what_is_not_there_is_refused(merged):
    with pytest.raises(SessionNotFoundError):
        delete(merged.store, "nobody")


def test_deleting_a_copy_leaves_the_original_in_its_views(merged):
    import shutil

    shutil.copytree(merged.path / "s", merged.path / "twin")
    rows = merged.segment_rows()

    delete(merged.store, "twin")

    assert merged.segment_rows() == rows
    assert min(os.listdir(merged.path / "_trash")).split("-")[-2] == "twin"


def test_a_deletion_cut_short_hides_the_session_or_leaves_it_and_can_be_ended(
    merged, nodes, tmp_path
):
    import shutil

    compact(merged.store)
    whole = shutil.copytree(merged.path, tmp_path / "whole")
    files = merged.crashing(10**9)
    delete(merged.fresh(files), "s")
    for allowed in range(0, files.changes, 2):
        merged.put_back(whole)
        with pytest.raises(merged.Cut):
            delete(merged.fresh(merged.crashing(allowed)), "s")
        rows = merged.segment_rows()
        assert rows in ({}, merged.journal_rows() | {}) or not (merged.path / "s").exists()

        if (merged.path / "s").exists():
            delete(merged.fresh(), "s")
        compact(merged.fresh())
        gc(merged.fresh(), grace_hours=0)

        assert merged.segment_rows() == {}
        assert parquet(merged) == []
