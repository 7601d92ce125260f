"""What a question reads: the segments of the streams and sessions asked, verified, and no more."""

import os
import shutil
from pathlib import Path

import pytest

import varvite
from varvite.errors import CorruptError
from varvite.query.snapshot import Snapshot
from varvite.segments import check, manifest
from varvite.testing import mixed


@pytest.fixture
def no_memory(monkeypatch, tmp_path):
    """Nothing verified before is remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def verified(no_memory, monkeypatch):
    """The segments that are read whole to be verified, in order."""
    read = []
    real = check.verify

    def verify(store, segment):
        read.append(segment)
        real(store, segment)

    monkeypatch.setattr(check, "verify", verify)
    return read


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """Sessions a, b and c, each compacted by itself, of several streams."""
    store = varvite.open(tmp_path_factory.mktemp("apart"))
    for name in "abc":
        store.graph(name, create=True).close()
        node = {"stream": "nodes", "node_kind": "variable", "score": 0.5}
        mixed.append(store, name, [node, {"stream": "weather", "of": name}])
        mixed.append(store, name, [{"stream": "events", "type": "noted"}])
        store.compact()
    return store


def held(store, stream=None, session=None):
    with store._folder() as folder:
        uids = {one["session_id"]: one["uid"] for one in store.sessions()}
        return sorted(
            segment.path
            for segment in manifest.load(folder).segments
            if stream in {None, segment.stream}
            and (session is None or uids[session] in segment.sessions)
        )


@pytest.mark.parametrize(
    ("sql", "stream"),
    [
        ("select count(*) from nodes", "nodes"),
        ("select count(*) as edges, 'records' as runs from node_revisions", "nodes"),
        ("from streams.weather", "weather"),
        ("with edges as (from events) select count(*) from edges -- nodes", "events"),
        ("describe nodes", "nodes"),
    ],
)
def test_only_the_segments_of_the_streams_asked_are_read(apart, verified, sql, stream):
    apart.sql(sql)

    assert sorted(segment.path for segment in verified) == held(apart, stream)
    assert len(verified) == 3


@pytest.mark.parametrize("session", ["a", "b"])
def test_only_the_segments_of_the_sessions_asked_are_read(apart, verified, session):
    apart.sql("from records", sessions=[session])

    assert sorted(segment.path for segment in verified) == held(apart, session=session)
    assert len(verified) == 3


def test_segments_beyond_the_moment_asked_are_not_read(apart, verified):
    apart.sql("from nodes", as_of={"a": 2, "b": 0, "c": 0})

    assert [segment.path for segment in verified] == held(apart, "nodes", "a")


@pytest.mark.parametrize(
    "sql", ["select 1", "from sessions limit 0", "from segments", "select 'nodes'"]
)
def test_a_question_of_no_stream_reads_no_segment(apart, verified, sql):
    apart.sql(sql.replace("from sessions", "from catalog.sessions"))

    assert verified == []


def test_a_segment_is_read_once_and_then_trusted(apart, verified):
    apart.sql("from nodes")
    apart.sql("from nodes")
    apart.sql("from node_revisions", sessions=["a"])

    assert len(verified) == 3


def test_the_tail_is_not_read_where_only_the_catalog_is_asked(store, monkeypatch):
    mixed.odd(store, "odd")
    read = []
    monkeypatch.setattr(Snapshot, "_read_tail", lambda snapshot: read.append(1))

    assert len(store.sql("from catalog.sessions")) == 1
    assert read == []


@pytest.fixture
def damaged(apart, tmp_path, no_memory):
    """A copy of the store, and what damages one of its segments of nodes."""
    shutil.copytree(apart.path, tmp_path / "store")
    store = varvite.open(tmp_path / "store")
    path = f"{store.path}/_lake/{held(store, 'nodes', 'b')[0]}"
    return store, path


def flip(path, place):
    with open(path, "r+b") as stream:
        stream.seek(place)
        byte = stream.read(1)[0]
        stream.seek(place)
        stream.write(bytes([byte ^ 1]))


def test_a_changed_byte_anywhere_in_a_segment_is_named_before_a_row_comes_back(damaged):
    store, path = damaged
    size = os.path.getsize(path)

    for place in {0, 4, size // 3, size // 2, size - 9, size - 1}:
        flip(path, place)
        for sql in ("select count(*) from nodes", "from streams.nodes limit 1", "describe nodes"):
            with pytest.raises(CorruptError) as caught:
                store.sql(sql)
            assert caught.value.file == path
        with pytest.raises(CorruptError):
            store.connect()
        flip(path, place)
    assert len(store.sql("from nodes")) == 3


@pytest.mark.parametrize("change", ["missing", "empty", "half", "longer", "folder"])
def test_a_segment_that_is_not_what_it_was_is_named(damaged, change):
    store, path = damaged
    data = Path(path).read_bytes()
    os.unlink(path)
    if change == "folder":
        os.mkdir(path)
    elif change != "missing":
        made = {"empty": b"", "half": data[: len(data) // 2], "longer": data + b"\0"}[change]
        with open(path, "wb") as stream:
            stream.write(made)

    with pytest.raises(CorruptError) as caught:
        store.sql("from nodes")

    assert caught.value.file == path
    assert "varvite repair" in caught.value.hint


def test_a_damaged_segment_stops_only_what_reads_it(damaged):
    store, path = damaged
    flip(path, 100)

    assert len(store.sql("from nodes", sessions=["a"])) == 1
    assert len(store.sql("from streams.weather")) == 3
    assert len(store.sql("from events", as_of={"b": 0})) == 2
    with pytest.raises(CorruptError):
        store.sql("from records")


def test_a_changed_manifest_is_named(damaged):
    store, _ = damaged
    folder = f"{store.path}/_lake/manifests"
    newest = f"{folder}/{max(os.listdir(folder))}"
    flip(newest, os.path.getsize(newest) // 2)

    with pytest.raises(CorruptError) as caught:
        store.sql("select 1")

    assert caught.value.file == newest


def test_a_changed_byte_in_the_journals_tail_is_named(store):
    mixed.odd(store, "odd")
    path = f"{store.path}/odd/events.ndjson"
    store.sql("from records")
    flip(path, os.path.getsize(path) // 2)

    for moment in (None, 1, 12, "2100-01-01"):
        with pytest.raises(CorruptError) as caught:
            store.sql("from records", as_of=moment)
        assert caught.value.file == path
        assert "seq" in caught.value.message


def test_what_lies_in_the_lake_and_is_not_listed_is_not_read(damaged):
    store, path = damaged
    folder = os.path.dirname(path)
    shutil.copy(path, f"{folder}/0-0-beef.parquet")
    for name, data in (("empty", b""), ("half", Path(path).read_bytes()[:300])):
        with open(f"{folder}/{name}.parquet", "wb") as stream:
            stream.write(data)

    assert len(store.sql("from nodes")) == 3


def test_where_the_cache_cannot_be_written_segments_are_read_again(apart, verified, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")

    assert len(apart.sql("from nodes")) == len(apart.sql("from nodes")) == 3
    assert len(verified) == 6
