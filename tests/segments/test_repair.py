"""Repair moves what is damaged aside, keeps every sound record, and says what is lost."""

import shutil

import orjson
import pytest

from varvite.segments import manifest as manifests
from varvite.segments.compact import compact
from varvite.segments.repair import repair
from varvite.segments.verify import verify
from varvite.session.writer import Writer


@pytest.fixture
def filled(lab, nodes):
    lab.create("one", nodes(60, extra=1, metadata={"k": [1, 0.5]}), batch=10, seal_bytes=3_000)
    lab.create("two", nodes(30))
    compact(lab.store)
    lab.append("one", nodes(40), batch=10, seal_bytes=3_000)
    return lab


def mend(lab, **options):
    return repair(lab.fresh(), lambda _: lab.kind, **options)


def whole(lab):
    return verify(lab.fresh(), deep=True, kind_of=lambda _: lab.kind)


def flip(path, byte):
    data = bytearray(path.read_bytes())
    data[byte] ^= 4
    path.write_bytes(data)


def bytes_of(lab):
    return {p.relative_to(lab.path): p.read_bytes() for p in lab.path.rglob("*") if p.is_file()}


def parts(lab, ending):
    return sorted((lab.path / "one" / "journal").glob(ending))


def test_a_whole_store_needs_nothing(filled):
    before = bytes_of(filled)

    assert mend(filled, dry_run=True) == []
    assert bytes_of(filled) == before
    assert mend(filled) == []


def test_a_dry_run_says_the_same_and_touches_nothing(filled):
    flip(parts(filled, "*.ndjson")[-1], 900)
    [edge] = (filled.path / "_lake" / "nodes").iterdir()
    flip(edge, 500)
    before = bytes_of(filled)

    foreseen = mend(filled, dry_run=True)

    assert bytes_of(filled) == before
    assert [one.file for one in mend(filled)] == [one.file for one in foreseen]


def test_a_damaged_segment_is_made_anew_and_kept_aside(filled):
    before = filled.segment_rows()
    [segment] = manifests.load(filled.store).segments
    filled.flip(segment, byte=segment.bytes // 2)
    damaged = filled.file_of(segment).read_bytes()

    [done] = mend(filled)

    assert done.file.endswith(segment.path)
    assert whole(filled) == []
    assert filled.segment_rows() == before
    [kept] = (filled.path / "_lake" / "damaged").iterdir()
    assert kept.read_bytes() == damaged


def test_a_missing_segment_is_made_anew(filled):
    before = filled.segment_rows()
    [segment] = manifests.load(filled.store).segments
    filled.file_of(segment).unlink()

    mend(filled)

    assert (whole(filled), filled.segment_rows()) == ([], before)


def test_a_damaged_manifest_is_replaced_and_rows_come_back_with_a_compaction(filled):
    compact(filled.store)
    before = filled.segment_rows()
    generation = manifests.latest(filled.store)
    flip(filled.path / "_lake" / "manifests" / manifests.file_name(generation), 99)

    [done] = mend(filled)
    compact(filled.store)

    assert "quarantined" in done.done
    assert filled.segment_rows() == before
    assert [one for one in whole(filled) if one.code != "orphan"] == []


def test_what_a_compacted_part_lost_comes_back_from_segments(filled):
    wanted = filled.journal_rows()
    part = parts(filled, "*.zst")[1]
    flip(part, part.stat().st_size // 2)

    done = mend(filled)

    assert done[0].lost == []
    assert whole(filled) == []
    assert filled.journal_rows() == wanted
    assert [orjson.loads(line)["seq"] for line in filled.lines("one")] == list(range(1, 101))


def test_a_batch_that_only_the_journal_had_is_told_as_lost_and_the_others_stay(filled):
    before = filled.lines("one")
    part = parts(filled, "*.ndjson")[-1]
    first = int(part.name[:12])
    flip(part, 900)

    done = mend(filled)

    [(begin, end)] = done[0].lost
    assert (end - begin, begin >= first) == (9, True)
    after = filled.lines("one")
    assert len(after) == len(before)
    for seq, (old, new) in enumerate(zip(before, after, strict=True), 1):
        if begin <= seq <= end:
            assert orjson.loads(new)["stream"] == "lost"
        else:
            assert new == old
    assert whole(filled) == []


def test_every_byte_of_a_damaged_journal_is_kept_aside(filled):
    part = parts(filled, "*.ndjson")[-1]
    flip(part, 900)
    damaged = part.read_bytes()

    mend(filled)

    kept = [path.read_bytes() for path in (filled.path / "one" / "quarantine").iterdir()]
    assert damaged in kept


def test_a_mended_session_is_written_compacted_and_asked_as_before(filled, nodes):
    flip(parts(filled, "*.ndjson")[-1], 900)
    mend(filled)

    with Writer(filled.store, "one", filled.kind) as writer:
        receipt = writer.append(nodes(3))
    compact(filled.store)

    assert receipt.first == 101
    assert filled.segment_rows() == filled.journal_rows()
    assert len(filled.segment_rows()["lost"]) == 10


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("place", ["head", "middle", "end"])
def test_damage_at_any_part_of_a_journal_costs_at_most_the_batches_it_touches(
    filled, which, place, tmp_path
):
    files = [
        *sorted((filled.path / "one" / "journal").iterdir()),
        filled.path / "one" / "events.ndjson",
    ]
    before = filled.lines("one")
    size = files[which].stat().st_size
    flip(files[which], {"head": 20, "middle": size // 2, "end": size - 4}[place])

    mend(filled)

    assert whole(filled) == []
    after = filled.lines("one")
    lost = [line for line in after if orjson.loads(line)["stream"] == "lost"]
    assert len(after) == len(before)
    assert len(lost) <= 20
    compact(filled.fresh())
    assert filled.segment_rows() == filled.journal_rows()


def test_a_missing_part_is_told_and_the_others_stay(filled):
    before = filled.lines("one")
    part = parts(filled, "*.ndjson")[-1]
    part.unlink()

    done = mend(filled)

    after = filled.lines("one")
    assert len(after) == len(before)
    assert sum(b - a + 1 for a, b in done[0].lost) == sum(
        old != new for old, new in zip(before, after, strict=True)
    )
    assert whole(filled) == []


def test_a_journal_put_back_to_an_older_state_gives_its_own_rows_again(filled, nodes, tmp_path):
    old = shutil.copytree(filled.path / "two", tmp_path / "old")
    filled.append("two", nodes(7))
    compact(filled.store)
    shutil.rmtree(filled.path / "two")
    shutil.copytree(old, filled.path / "two")
    filled.append("two", nodes(4, title="other"))

    mend(filled)
    compact(filled.fresh())

    assert whole(filled) == []
    assert filled.segment_rows() == filled.journal_rows()


def test_derived_files_are_made_anew(filled):
    (filled.path / "one" / "nodes.jsonl").write_bytes(b"gone\n")
    shutil.rmtree(filled.path / "two" / "index")

    done = mend(filled)

    assert {one.session for one in done} == {"one", "two"}
    assert whole(filled) == []


def test_a_repair_cut_short_is_ended_by_the_next_one(filled, tmp_path):
    flip(parts(filled, "*.ndjson")[-1], 900)
    part = parts(filled, "*.zst")[0]
    flip(part, part.stat().st_size // 2)
    before = len(filled.lines("two")) + 100
    copy = shutil.copytree(filled.path, tmp_path / "copy")
    files = filled.crashing(10**9)
    repair(filled.fresh(files), lambda _: filled.kind)
    wanted = [line for line in filled.lines("one") if orjson.loads(line)["stream"] == "nodes"]

    for allowed in range(1, files.changes, max(files.changes // 6, 1)):
        filled.put_back(copy)
        with pytest.raises((filled.Cut, Exception)):
            repair(filled.fresh(filled.crashing(allowed)), lambda _: filled.kind)

        mend(filled)

        assert [one for one in whole(filled) if one.code != "orphan"] == []
        assert len(filled.lines("one")) + len(filled.lines("two")) == before
        kept = [line for line in filled.lines("one") if orjson.loads(line)["stream"] == "nodes"]
        assert kept == wanted


def test_a_journal_that_is_gone_is_told_as_not_mended_and_nothing_is_promised_of_it(filled):
    (filled.path / "one" / "events.ndjson").unlink()
    shutil.rmtree(filled.path / "one" / "index")
    [segment] = manifests.load(filled.store).segments
    filled.flip(segment, byte=segment.bytes // 2)
    before = bytes_of(filled)

    foreseen = mend(filled, dry_run=True)
    done = mend(filled)

    assert foreseen == done
    assert {(one.file.rpartition("/")[2], one.mended) for one in done} == {
        ("index", False),
        ("events.ndjson", False),
        (segment.path.rpartition("/")[2], False),
    }
    kept = bytes_of(filled)
    assert {name for name in before if name.name != "lock" and kept[name] != before[name]} == set()
