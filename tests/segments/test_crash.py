"""At any point of a compaction readers see the old generation or the new one, each row once."""

import shutil

import pytest

from varvite.errors import SessionLockedError, StorageError
from varvite.segments import manifest
from varvite.segments.compact import compact
from varvite.segments.sweep import gc


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("varvite.segments.chunks.CHUNK_BYTES", 8_000)
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 3)


def filled(lab, nodes):
    lab.create("one", nodes(60, extra=1), batch=20, seal_bytes=4_000)
    lab.create("two", nodes(60), batch=20, seal_bytes=4_000)


def changes(lab):
    files = lab.crashing(10**9)
    compact(lab.fresh(files))
    return files.changes


@pytest.mark.parametrize("step", [25, pytest.param(1, marks=pytest.mark.slow)])
def test_cut_at_any_change_of_the_disk_and_run_again_gives_every_row_once(
    lab, nodes, small_chunks, tmp_path, step
):
    filled(lab, nodes)
    whole = shutil.copytree(lab.path, tmp_path / "whole")
    total = changes(lab)
    wanted = lab.journal_rows()
    journal = {name: lab.lines(name) for name in ("one", "two")}
    assert total > 60

    for allowed in range(step // 2, total, step):
        lab.put_back(whole)
        with pytest.raises((lab.Cut, StorageError)):
            compact(lab.fresh(lab.crashing(allowed)))
        seen = lab.segment_rows().get("nodes", [])
        compacted = manifest.load(lab.store)
        assert seen == [
            row for row in wanted["nodes"] if row["seq"] <= compacted.compacted(row["session_uid"])
        ]

        compact(lab.fresh())

        assert lab.segment_rows() == wanted
        assert {name: lab.lines(name) for name in ("one", "two")} == journal


def test_a_sweep_after_a_cut_leaves_what_is_listed_and_nothing_else(
    lab, nodes, small_chunks, tmp_path
):
    filled(lab, nodes)
    whole = shutil.copytree(lab.path, tmp_path / "whole")
    total = changes(lab)

    for allowed in range(3, total, 60):
        lab.put_back(whole)
        with pytest.raises((lab.Cut, StorageError)):
            compact(lab.fresh(lab.crashing(allowed)))
        compact(lab.fresh())

        gc(lab.fresh(), grace_hours=0)

        lake = lab.path / "_lake"
        on_disk = {str(path.relative_to(lake)) for path in lake.rglob("*.parquet*")}
        assert on_disk == {one.path for one in manifest.load(lab.store).segments}
        assert lab.segment_rows() == lab.journal_rows()


def test_a_second_compaction_is_refused_at_once(lab, nodes):
    from varvite.segments.publishing import locked

    lab.create("s", nodes(5))

    with locked(lab.store), pytest.raises(SessionLockedError, match="_lake is being written"):
        compact(lab.fresh())


def test_time_that_is_over_stops_and_the_next_run_goes_on(lab, nodes, small_chunks):
    from varvite.errors import StoppedError

    filled(lab, nodes)

    with pytest.raises(StoppedError) as stopped:
        compact(lab.store, max_seconds=0)

    assert 0 < stopped.value.receipt["rows"] < 120
    compact(lab.store)
    assert lab.segment_rows() == lab.journal_rows()


def test_a_full_disk_leaves_the_old_generation(lab, nodes):
    import errno

    from varvite.disk.files import Files
    from varvite.errors import DiskFullError

    class Full(Files):
        def write(self, fd, data):
            if len(data) > 1000:
                raise OSError(errno.ENOSPC, "full")
            return super().write(fd, data)

    lab.create("s", nodes(500))

    with pytest.raises(DiskFullError):
        compact(lab.fresh(Full()))

    assert manifest.load(lab.store).generation == 0
    assert not list(lab.path.rglob("*.parquet*"))
    compact(lab.store)
    assert lab.segment_rows() == lab.journal_rows()
