import os
import shutil

import pytest
import zstandard

from varvite.errors import CorruptError, NotASessionError
from varvite.session import parts
from varvite.testing import notes


@pytest.fixture
def sealed(store, session):
    """Three sealed parts of two batches, and an active part of one; journal/ is returned."""
    with notes.writer(store) as writer:
        for number in range(3):
            writer.append([notes.note(number)])
            writer.append([notes.note(number), notes.note(-number)])
            writer.seal()
        writer.append([notes.note("last")])
    return session / "journal"


def test_sealing_changes_no_byte_and_loses_no_batch(store, sealed):
    found = notes.journal(store)

    assert [first for first, _ in found] == [1, 2, 4, 5, 7, 8, 10]
    assert sorted(os.listdir(sealed)) == [f"{first:012d}.ndjson" for first in (1, 4, 7)]


def test_any_changed_byte_of_a_sealed_part_is_found(store, sealed):
    path = sealed / "000000000004.ndjson"
    data = path.read_bytes()

    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(CorruptError) as caught:
            notes.journal(store)
        assert caught.value.file == str(path) or place < data.index(b"\n")


def test_a_sealed_part_cut_anywhere_is_found(store, sealed):
    path = sealed / "000000000004.ndjson"
    data = path.read_bytes()

    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        with pytest.raises(CorruptError):
            notes.journal(store)


def test_a_missing_part_is_found_wherever_it_was(store, sealed):
    for name in sorted(os.listdir(sealed)):
        (sealed / name).rename(sealed / "aside")
        with pytest.raises(CorruptError, match="missing"):
            notes.journal(store)
        (sealed / "aside").rename(sealed / name)


def test_parts_that_changed_names_are_found(store, sealed):
    (sealed / "000000000001.ndjson").rename(sealed / "aside")
    (sealed / "000000000004.ndjson").rename(sealed / "000000000001.ndjson")
    (sealed / "aside").rename(sealed / "000000000004.ndjson")

    with pytest.raises(CorruptError):
        notes.journal(store)


def test_a_compressed_part_reads_as_the_plain_one(store, sealed):
    before = notes.journal(store)

    for path in sorted(sealed.iterdir()):
        packed = zstandard.ZstdCompressor().compress(path.read_bytes())
        (sealed / f"{path.name}.zst").write_bytes(packed)
        assert notes.journal(store) == before
        path.unlink()
        assert notes.journal(store) == before


def test_a_damaged_compressed_part_is_found(store, sealed):
    plain = sealed / "000000000004.ndjson"
    packed = zstandard.ZstdCompressor().compress(plain.read_bytes())
    plain.unlink()

    for cut in range(len(packed)):
        (sealed / "000000000004.ndjson.zst").write_bytes(packed[:cut])
        with pytest.raises(CorruptError):
            notes.journal(store)


def test_a_compressed_bomb_is_refused(store, sealed, monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES_MAX", 1 << 20)
    (sealed / "000000000004.ndjson").unlink()
    bomb = zstandard.ZstdCompressor().compress(bytes(64 << 20))
    (sealed / "000000000004.ndjson.zst").write_bytes(bomb)

    with pytest.raises(CorruptError, match="more than a part"):
        notes.journal(store)


def test_reading_from_a_cursor_opens_only_the_parts_beyond_it(store, session, sealed):
    (sealed / "000000000001.ndjson").unlink()
    (sealed / "000000000004.ndjson").write_bytes(b"not a part")

    with store.folder(notes.SESSION) as folder:
        found = [batch.commit.first for batch in parts.batches(folder, 6)]

    assert found == [7, 8, 10]


def test_a_session_without_its_folder_of_parts_says_so(store, sealed):
    shutil.rmtree(sealed)

    with pytest.raises(CorruptError, match="missing"):
        notes.journal(store)
    with pytest.raises(CorruptError, match="missing"):
        notes.writer(store)


def test_a_session_that_sealed_nothing_needs_no_folder_of_parts(store, session):
    (session / "journal").rmdir()

    with notes.writer(store) as writer:
        writer.append([notes.note("one more")])
        writer.seal()
        writer.append([notes.note("and one")])

    assert len(list((session / "journal").iterdir())) == 1
    assert notes.journal(store)[-1][1] == ["and one"]


def test_a_session_without_its_active_part_says_so(store, session):
    (session / "events.ndjson").unlink()

    with pytest.raises(NotASessionError):
        notes.journal(store)
    with pytest.raises(NotASessionError):
        notes.writer(store)


def test_an_older_copy_of_the_active_part_is_refused_and_nothing_is_touched(store, session):
    with notes.writer(store) as writer:
        writer.append([notes.note(1)])
        older = (session / "events.ndjson").read_bytes()
        writer.append([notes.note(2)])
        writer.seal()
        writer.append([notes.note(3)])
    (session / "events.ndjson").write_bytes(older)
    (session / "CLEAN").unlink()
    (session / "index").rename(session.parent / "away")
    before = {path.name: path.read_bytes() for path in (session / "journal").iterdir()}

    with pytest.raises(CorruptError, match="older"):
        notes.writer(store)

    assert {path.name: path.read_bytes() for path in (session / "journal").iterdir()} == before
    assert (session / "events.ndjson").read_bytes() == older
