"""A damaged session is named, and keeps no other from being compacted."""

import shutil

import pytest

from varvite.errors import CorruptError
from varvite.segments import manifest as manifests
from varvite.segments.compact import compact


@pytest.fixture
def three(lab, nodes):
    for name in ("a", "b", "c"):
        lab.create(name, nodes(60), batch=10, seal_bytes=1_500)
    return lab


def damage(lab, name, part):
    file = sorted((lab.path / name / "journal").iterdir())[part]
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    return int(file.name[:12])


def test_compaction_stops_at_the_bad_batch_of_one_session_and_ends_the_others(three):
    wanted = three.journal_rows()["nodes"]
    first = damage(three, "b", 2)

    with pytest.raises(
        CorruptError, match=r"b/journal/0.*batch \d+, from seq \d+, is damaged"
    ) as stopped:
        compact(three.store)

    rows = three.segment_rows()["nodes"]
    reached = manifests.load(three.store).compacted(three.uid("b"))
    assert first - 1 <= reached < first + 30
    assert rows == [row for row in wanted if row["session_id"] != "b" or row["seq"] <= reached]
    assert stopped.value.receipt["rows"] == len(rows)


def test_doing_it_again_says_it_again_and_adds_nothing(three):
    damage(three, "b", 2)
    with pytest.raises(CorruptError):
        compact(three.store)
    rows = three.segment_rows()

    with pytest.raises(CorruptError, match=r"b/journal/0"):
        compact(three.store)

    assert three.segment_rows() == rows


def test_a_session_whose_head_is_damaged_does_not_stop_the_others(three):
    (three.path / "b" / "session.json").write_bytes(b"{}")

    with pytest.raises(CorruptError, match=r"b/session\.json is damaged"):
        compact(three.store)

    assert {row["session_id"] for row in three.segment_rows()["nodes"]} == {"a", "c"}


def test_a_journal_that_ends_before_its_segments_is_told(three, nodes, tmp_path):
    old = shutil.copytree(three.path / "b", tmp_path / "old")
    three.append("b", nodes(5))
    compact(three.store)
    shutil.rmtree(three.path / "b")
    shutil.copytree(old, three.path / "b")

    with pytest.raises(CorruptError, match="b ends at seq 60, segments hold seq 65 of it"):
        compact(three.store)


def test_a_journal_with_another_history_is_not_compacted_on_top(three, nodes, tmp_path):
    old = shutil.copytree(three.path / "b", tmp_path / "old")
    three.append("b", nodes(5))
    compact(three.store)
    rows = three.segment_rows()
    shutil.rmtree(three.path / "b")
    shutil.copytree(old, three.path / "b")
    three.append("b", nodes(9, title="other"))

    with pytest.raises(CorruptError):
        compact(three.store)

    assert three.segment_rows() == rows


def test_a_copy_of_a_session_is_refused_by_name(three):
    shutil.copytree(three.path / "a", three.path / "twin")

    with pytest.raises(CorruptError, match="twin is a copy of a"):
        compact(three.store)

    assert len(three.segment_rows()["nodes"]) == 180
