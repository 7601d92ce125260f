"""Everything but the journal can be deleted and made anew, and no view tells the difference."""

import itertools
import os
import shutil
from pathlib import Path

import pytest

import varvite
from varvite.adapters.pi_log import PiLog
from varvite.experiment.session import EXPERIMENT
from varvite.graph import payloads
from varvite.graph.session import GRAPH
from varvite.query import statements
from varvite.testing import growing, mixed

KINDS = ("index", "state", "streams", "field_map")
"""What a session has beside its journal; the lake is the store's."""

SUBSETS = [
    subset for size in range(len(KINDS) + 1) for subset in itertools.combinations(KINDS, size)
]
VIEWS = sorted(statements.views().keys() - {"segments"})


def answers(store):
    """Every view whole, and the shape of each."""
    with store.connect() as connection:
        raw = connection.sql(
            "select view_name from duckdb_views() where schema_name = 'streams' and view_name != '_all'"
        ).fetchall()
        names = [*VIEWS, *(f'streams."{name}"' for (name,) in raw)]
        rows = {name: connection.sql(f"from {name} order by all").fetchall() for name in names}
        shapes = {name: connection.sql(f"describe {name}").fetchall() for name in names}
    return rows, shapes


def sessions(store):
    return [Path(store.path) / one["session_id"] for one in store.sessions()]


def derived(session):
    """The derived files of a session, by kind; stream files one by one."""
    return {
        "index": [session / "index"],
        "state": [session / "state.json", session / "CLEAN"],
        "streams": sorted(session.glob("*.jsonl")),
        "field_map": [session / "field_map.json"],
    }


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def files(store):
    """The bytes of every derived file that is the same whenever it is made."""
    return {
        path.relative_to(store.path): path.read_bytes()
        for session in sessions(store)
        for path in sorted(session.glob("*.jsonl"))
    }


def make_anew(store):
    for session in sessions(store):
        store.rebuild(session.name)
    store.compact()


def assert_equal_without(store, lost):
    """Delete what `lost` says of each session (by name) and the lake, rebuild, and compare whole.

    First with the lake left, then without it.
    """
    before, bytes_before = answers(store), files(store)
    store.compact()
    assert answers(store) == before

    for lake in (False, True):
        for session in sessions(store):
            for kind, paths in derived(session).items():
                if kind in lost[session.name]:
                    for path in paths:
                        remove(path)
        if lake:
            remove(Path(store.path) / "_lake")
        assert answers(store) == before
        make_anew(store)

        assert answers(store) == before
        assert files(store) == bytes_before
        assert [one["counts"] for one in store.sessions()] == counts(before)


def counts(answered):
    """Records a stream, by session in the order of names."""
    rows, _ = answered
    found = {row[0]: {} for row in sorted(rows["sessions"])}
    for row in rows["records"]:
        found[row[0]][row[3]] = found[row[0]].get(row[3], 0) + 1
    return [dict(sorted(one.items())) for one in found.values()]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """For each subset of a session's derived files, a graph session and an experiment session."""
    store = varvite.open(tmp_path_factory.mktemp("template"))
    for number in range(len(SUBSETS)):
        mixed.odd(store, f"graph{number}")
        mixed.speed(store, f"experiment{number}")
    growing.graph(store, "search", 60)
    return store


@pytest.fixture
def store(template, tmp_path):
    shutil.copytree(template.path, tmp_path / "store")
    return varvite.open(tmp_path / "store")


def numbered(store, sets):
    """The set of each session's number; all of them for the session that has none."""
    everything = {kind for one in sets for kind in one}
    found = {}
    for session in sessions(store):
        digits = session.name.lstrip("abcdefghijklmnopqrstuvwxyz")
        found[session.name] = sets[int(digits)] if digits else everything
    return found


def test_every_subset_of_what_is_derived_can_be_deleted_and_made_anew(store):
    assert_equal_without(store, numbered(store, SUBSETS))


def test_each_stream_file_can_be_deleted_alone_and_made_anew(store):
    before = files(store)
    gone = set()
    for session in sessions(store):
        names = sorted(path.name for path in session.glob("*.jsonl"))
        number = int(session.name.lstrip("abcdefghijklmnopqrstuvwxyz") or 0)
        path = session / names[number % len(names)]
        path.unlink()
        gone.add((session.name.rstrip("0123456789"), path.name))

    for session in sessions(store):
        store.rebuild(session.name)

    assert files(store) == before
    assert gone >= {("graph", f"{name}.jsonl") for name in GRAPH.streams}
    assert gone >= {("experiment", f"{name}.jsonl") for name in EXPERIMENT.streams}


def test_a_session_goes_on_after_a_rebuild_as_if_nothing_had_been_deleted(tmp_path):
    whole, rebuilt = varvite.open(tmp_path / "whole"), varvite.open(tmp_path / "rebuilt")
    mixed.fill(whole, records=40)
    shutil.copytree(whole.path, rebuilt.path)
    rebuilt.compact()
    for session in sessions(rebuilt):
        for path in (path for paths in derived(session).values() for path in paths):
            remove(path)
    remove(Path(rebuilt.path) / "_lake")
    make_anew(rebuilt)

    for store in (whole, rebuilt):
        with store.experiment("followed") as session:
            session._writer._clock = lambda: "2030-01-01T00:00:00.000000Z"
            session.append_record({"type": "run", "status": "keep", "metric": -1e9}, key="k")
            assert session.append_record({"type": "hook"}, key="k").replayed

    assert answers(rebuilt) == answers(whole)


def real(path, shared, *, responses, logs):
    store = varvite.open(path)
    data = shared / "data"
    with store.graph("real", create=True, level="fast") as session:
        given = list(payloads.in_file(str(data / "gaia/twodheg__lkm_payloads.ndjson")))
        for start in range(0, len(given[:responses]), 8):
            session.submit(given[start : start + 8])
    files = sorted((data / "experiments/autoresearch").glob("*.jsonl"))
    for number, log in enumerate(files[:logs]):
        with store.experiment(f"log{number}", create=True, level="fast") as session:
            session.import_log(PiLog(log))
    return store


def test_real_sessions_survive_losing_what_is_derived(tmp_path, shared):
    store = real(tmp_path, shared, responses=40, logs=len(SUBSETS))

    assert_equal_without(store, numbered(store, SUBSETS))


@pytest.mark.slow
@pytest.mark.parametrize("subset", SUBSETS, ids="-".join)
def test_all_real_sessions_survive_losing_any_subset(tmp_path, shared, subset):
    store = real(tmp_path, shared, responses=None, logs=None)

    assert_equal_without(store, {one.name: subset for one in sessions(store)})


def test_what_is_asked_never_reads_an_index_a_state_or_a_stream_file(store):
    store.compact()
    before = answers(store)

    for session in sessions(store):
        for paths in derived(session).values():
            for path in paths:
                remove(path)
                if path.suffix == ".jsonl":
                    path.write_bytes(os.urandom(64))

    assert answers(store) == before
