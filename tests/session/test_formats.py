import os
import shutil

import orjson
import pytest

from varvite.disk import proof
from varvite.errors import CorruptError, NewerFormatError
from varvite.session import identity, journal, state
from varvite.session.reader import Reader
from varvite.testing import notes
from varvite.testing.notes import note


def as_newer(session, monkeypatch, *, header=True):
    """Raise the format of session.json and of the journal's next header."""
    values = orjson.loads((session / "session.json").read_bytes())
    del values["crc"]
    (session / "session.json").write_bytes(
        proof.document(values | {"format": 2, "a_new_field": {"x": 1}})
    )
    if header:
        with monkeypatch.context() as patch:
            patch.setattr(journal, "FORMAT", 2)
            start = journal.Position(0, 0, 0, 0, 0)
            data = (session / "events.ndjson").read_bytes()
            made = journal.header_line(values["uid"], start, {})
            at = journal.read_header(made, "x").position
            first = journal.read_header(data, "x").position
            blocks = list(journal.blocks(data, first))
            for block in blocks:
                lines = journal.record_lines(data, block)
                commit = block.commit
                written, again = journal.build(
                    lines, at, key=commit.key, level=commit.level, at=commit.at
                )
                at = journal.Position(again.last, again.batch, again.crc, again.epoch, 0)
                made += written
            (session / "events.ndjson").write_bytes(made)


def tree(path):
    return {
        os.path.join(folder, name): open_bytes(os.path.join(folder, name))
        for folder, _, names in os.walk(path)
        for name in names
    }


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def filled(store, session):
    with notes.writer(store) as writer:
        writer.append([note(1), note(2)])
    (session / "CLEAN").unlink()
    shutil.rmtree(session / "index")
    return session


@pytest.mark.parametrize("header", [True, False])
def test_a_newer_format_is_read_and_never_written(store, filled, monkeypatch, header):
    as_newer(filled, monkeypatch, header=header)
    (filled / "state.json").unlink()
    before = tree(filled)

    for attempt in (lambda: notes.writer(store), lambda: notes.rebuild(store)):
        with pytest.raises(NewerFormatError) as caught:
            attempt()
        assert (caught.value.found, caught.value.known) == (2, 1)
        assert "2" in str(caught.value)
        assert "1" in str(caught.value)

    assert tree(filled) == before
    with Reader(store, "s") as reader:
        assert (reader.cursor, reader.identity.kind) == (2, "notes")
    assert notes.journal(store) == [(1, [1, 2])]


def test_a_newer_part_in_an_older_session_is_not_written(store, filled, monkeypatch):
    as_newer(filled, monkeypatch)
    values = orjson.loads((filled / "session.json").read_bytes())
    values = {name: value for name, value in values.items() if name not in {"crc", "a_new_field"}}
    (filled / "session.json").write_bytes(proof.document(values | {"format": 1}))

    for attempt in (lambda: notes.writer(store), lambda: notes.rebuild(store)):
        with pytest.raises(NewerFormatError) as caught:
            attempt()
        assert caught.value.file.endswith("events.ndjson") if "file" in caught.value.data else True


def test_a_newer_header_of_another_shape_is_refused_with_both_versions(store, filled):
    line = proof.line("journal", {"format": 7, "other": "shape"})
    (filled / "events.ndjson").write_bytes(line)
    (filled / "state.json").unlink()

    with pytest.raises(NewerFormatError) as caught:
        Reader(store, "s")

    assert (caught.value.found, caught.value.known) == (7, 1)


def test_a_newer_identity_of_another_shape_is_refused_with_both_versions(store, filled):
    (filled / "session.json").write_bytes(proof.document({"format": 3, "name": "s"}))

    with pytest.raises(NewerFormatError) as caught:
        Reader(store, "s")

    assert (caught.value.found, caught.value.known) == (3, 1)


@pytest.mark.parametrize("name", ["uid", "id", "kind", "title", "created", "parameters", "format"])
@pytest.mark.parametrize("value", ["missing", None, 5.5, ["x"], True])
def test_an_identity_of_another_shape_is_damage(store, session, name, value):
    values = orjson.loads((session / "session.json").read_bytes())
    del values["crc"]
    changed = {key: kept for key, kept in values.items() if key != name}
    if value != "missing":
        changed[name] = value
    (session / "session.json").write_bytes(proof.document(changed))

    with pytest.raises(CorruptError) as caught:
        Reader(store, "s")

    assert caught.value.file == str(session / "session.json")


def test_any_changed_byte_of_session_json_is_found(store, session):
    data = (session / "session.json").read_bytes()
    with store.folder("s") as folder:
        mine = identity.read(folder)
        for place in range(len(data)):
            changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
            (session / "session.json").write_bytes(changed)
            try:
                found = identity.read(folder)
            except CorruptError:
                found = None
            assert found in (None, mine)


def hostile(values, name):
    for bad in (None, "x", -1, 1.5, [], {}, 2**63, True):
        yield values | {name: bad}
    yield {key: value for key, value in values.items() if key != name}


def test_a_state_or_marker_of_another_shape_is_none(store, session):
    with notes.writer(store) as writer:
        writer.append([note(1)])
    with store.folder("s") as folder:
        mine = identity.read(folder)
        for name, read in (
            ("state.json", lambda: state.read(folder, mine)),
            ("CLEAN", lambda: state.Clean.read(folder)),
        ):
            good = orjson.loads((session / name).read_bytes())
            del good["crc"]
            for key in good:
                for values in hostile(good, key):
                    (session / name).write_bytes(proof.document(values))
                    read()
            places = good["journal"] if name == "state.json" else {}
            for key in places:
                for place in hostile(places, key):
                    (session / name).write_bytes(proof.document(good | {"journal": place}))
                    read()
            for position in ([], [1], ["x"] * 5, [-1] * 5, [1.5] * 5, "xxxxx", [None] * 5, [0] * 6):
                if name == "CLEAN":
                    (session / name).write_bytes(proof.document(good | {"position": position}))
                    assert read() is None


@pytest.mark.parametrize("name", ["state.json", "CLEAN", "session.json", "events.ndjson", "lock"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\0" * 4096,
        b"[" * 200_000,
        b'{"a":' * 50_000,
        b"\xff\xfe\x00",
        b"<<<<<<< HEAD\n",
        b'{"crc":0}',
        b"9" * 10_000,
        b'"' + b"\\ud800" * 10 + b'"',
        bytes(range(256)) * 64,
    ],
)
def test_any_bytes_in_our_files_give_a_typed_error_or_are_caught_up(store, session, name, data):
    with notes.writer(store) as writer:
        writer.append([note(1)])
    (session / name).write_bytes(data)

    damaged = []
    for attempt in (lambda: Reader(store, "s").close(), lambda: notes.writer(store).close()):
        try:
            attempt()
        except CorruptError as error:
            damaged.append(os.path.basename(error.file))

    needed = name in {"session.json", "events.ndjson"}
    assert damaged == ([name, name] if needed else [])
