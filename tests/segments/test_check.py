"""A changed byte of a segment is found before its rows are returned."""

import os
import shutil
import stat

import pytest

from varvite.errors import CorruptError
from varvite.segments import check
from varvite.segments import manifest as manifests
from varvite.segments.compact import compact


@pytest.fixture
def segment(lab, nodes):
    lab.create("s", nodes(400, metadata={"k": "v" * 20}))
    compact(lab.store)
    [one] = manifests.load(lab.store).segments
    return one


def test_each_of_200_flipped_bits_is_found_and_named(lab, segment):
    whole = lab.file_of(segment).read_bytes()

    for number in range(200):
        bit = number * (8 * len(whole) - 1) // 199
        lab.flip(segment, byte=bit // 8, bit=bit % 8)
        with pytest.raises(CorruptError, match=segment.path):
            check.verified(lab.fresh(), [segment])
        lab.file_of(segment).write_bytes(whole)

    check.verified(lab.fresh(), [segment])


@pytest.mark.parametrize("change", ["empty", "half", "longer", "gone", "folder", "link"])
def test_a_file_that_is_not_the_segment_is_refused(lab, segment, change, tmp_path):
    file = lab.file_of(segment)
    data = file.read_bytes()
    file.unlink()
    if change == "folder":
        file.mkdir()
    elif change == "link":
        (tmp_path / "copy").write_bytes(data)
        file.symlink_to(tmp_path / "copy")
    elif change != "gone":
        file.write_bytes(
            {"empty": b"", "half": data[: len(data) // 2], "longer": data + b"\0"}[change]
        )

    with pytest.raises(CorruptError, match=segment.path):
        check.verified(lab.fresh(), [segment])


def reads(lab, segment):
    folder = lab.fresh()
    check.verified(folder, [segment])
    return folder.files.io.bytes_read


def test_a_verified_segment_is_not_read_again_until_it_changes(lab, segment):
    first, second = reads(lab, segment), reads(lab, segment)
    os.utime(lab.file_of(segment))
    touched, again = reads(lab, segment), reads(lab, segment)
    copy = lab.file_of(segment).read_bytes()
    lab.file_of(segment).unlink()
    lab.file_of(segment).write_bytes(copy)

    assert (first, second, touched, again) == (segment.bytes, 0, segment.bytes, 0)
    assert reads(lab, segment) == segment.bytes


def test_a_damaged_cache_costs_a_reading_and_no_more(lab, segment, tmp_path):
    reads(lab, segment)
    [cache] = (tmp_path / "cache" / "varvite").iterdir()

    for data in (b"", b"x", os.urandom(4096)):
        cache.write_bytes(data)
        assert reads(lab, segment) == segment.bytes


def test_an_unwritable_cache_costs_a_reading_and_no_more(lab, segment, tmp_path):
    (tmp_path / "cache").write_bytes(b"in the way")

    assert [reads(lab, segment) for _ in range(2)] == [segment.bytes] * 2


def test_reading_needs_no_permission_to_write_the_store(lab, segment):
    for path in [lab.path, *lab.path.rglob("*")]:
        path.chmod(stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() else 0))
    try:
        check.verified(lab.fresh(), manifests.load(lab.fresh()).segments)
    finally:
        for path in [lab.path, *lab.path.rglob("*")]:
            path.chmod(stat.S_IRWXU)


def test_segments_of_a_moved_store_are_verified_there(lab, segment, tmp_path):
    reads(lab, segment)
    lab.path = shutil.copytree(lab.path, tmp_path / "elsewhere")
    lab.flip(segment, byte=50)

    with pytest.raises(CorruptError):
        check.verified(lab.fresh(), [segment])
