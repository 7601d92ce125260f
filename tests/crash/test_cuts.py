"""Every prefix of a commit, at every byte: open, append, open again."""

import os
import shutil

import pytest

from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.notes import note


@pytest.fixture(params=[False, True], ids=["one_part", "after_a_sealed_part"])
def torn(request, tmp_path):
    """A directory to copy, its journal with one batch more than the rest knows, and its length."""
    path = tmp_path / "prepared"
    with notes.store(path) as store:
        writer = notes.writer(store)
        writer.append([note("a")])
        if request.param:
            writer.seal()
            writer.append([note("b")])
        size = (path / "s" / "events.ndjson").stat().st_size
        notes.abandon(writer)
        shutil.copytree(path, tmp_path / "before")
        writer = notes.writer(store)
        writer.append([note("torn")], key="k")
        notes.abandon(writer)
    data = (path / "s" / "events.ndjson").read_bytes()
    held = ["a", "b"] if request.param else ["a"]
    return tmp_path / "before", data, size, held


def first_values(path):
    with notes.store(path) as store:
        return [values[0] for _, values in notes.journal(store)]


def test_a_commit_cut_at_any_byte_is_gone_whole_and_the_next_is_its_own(torn, tmp_path):
    prepared, data, size, held = torn

    step = 1 if held == ["a"] else 7
    for cut in [*range(size, len(data), step), len(data)]:
        path = tmp_path / "copy"
        shutil.copytree(prepared, path)
        (path / "s" / "events.ndjson").write_bytes(data[:cut])
        with notes.store(path) as store:
            whole = held + ["torn"] * (cut == len(data))
            with Reader(store, "s") as reader:
                assert reader.cursor == len(whole)
            writer = notes.writer(store)
            left = cut - size if cut < len(data) else 0
            assert (writer.recovered.bytes_cut if writer.recovered else 0) == left
            receipt = writer.append([note("new")], key="k")
            assert receipt.replayed == (cut == len(data))
            notes.abandon(writer)
            with notes.writer(store) as writer:
                assert writer.recovered is None
        expected = whole if receipt.replayed else [*whole, "new"]
        assert first_values(path) == expected
        kept = b"".join(
            (path / "s" / "quarantine" / name).read_bytes()
            for name in (os.listdir(path / "s" / "quarantine") if left else [])
        )
        assert kept == data[size : size + left]
        shutil.rmtree(path)


TAILS = {
    "NULs": bytes(4096),
    "one NUL": b"\0",
    "a newline": b"\n",
    "half a character": b"\xe2\x82",
    "binary": bytes(range(256)) * 8,
    "a line of a record": b'{"seq":9,"stream":"notes","id":"x","rev":0,"prev_seq":null}\n',
    "many lines": b'{"seq":9,"stream":"notes"}\n' * 1000,
    "a commit line of nothing": b'{"commit":{"batch":2,"first":2,"last":2,"size":0,"crc":0}}\n',
    "an open commit line": b'\n{"commit":{' + b"x" * 200_000,
    "a header": b'{"journal":{"format":1}}\n',
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
def test_whatever_follows_the_last_commit_is_kept_aside_and_told(tmp_path, tail):
    path = tmp_path / "store"
    with notes.store(path) as store:
        writer = notes.writer(store)
        writer.append([note("a")])
        notes.abandon(writer)
        size = (path / "s" / "events.ndjson").stat().st_size
        with (path / "s" / "events.ndjson").open("ab") as file:
            file.write(tail)

        with Reader(store, "s") as reader:
            assert reader.cursor == 1
        writer = notes.writer(store)

        told = writer.recovered
        assert (told.offset, told.bytes_cut, told.next_seq) == (size, len(tail), 2)
        with open(told.quarantined, "rb") as file:
            assert file.read() == tail
        writer.append([note("b")])
        notes.abandon(writer)
        with notes.writer(store) as writer:
            assert writer.recovered is None
    assert first_values(path) == ["a", "b"]
