"""Stores that released formats wrote stay readable, writable and rebuildable."""

import json
import shutil
from pathlib import Path

import pytest
from tests.golden.make import ask

import varvite

FORMATS = sorted(path.name for path in Path(__file__).parent.glob("v*"))


@pytest.fixture(params=FORMATS)
def golden(request, tmp_path):
    """A copy of a format's store, and the answers that it gave when it was made."""
    folder = Path(__file__).parent / request.param
    ignored = shutil.ignore_patterns("index", "lock", "CLEAN")
    shutil.copytree(folder / "store", tmp_path / "store", ignore=ignored)
    _as_git_keeps_it(tmp_path / "store")
    return varvite.open(tmp_path / "store"), json.loads((folder / "answers.json").read_text())


def _as_git_keeps_it(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def test_there_is_a_store_of_every_released_format():
    assert FORMATS == ["v1"]


def test_a_golden_store_gives_the_answers_of_its_day(golden):
    store, answers = golden

    assert ask(store) == answers


def test_a_golden_store_is_sound(golden):
    store, _ = golden
    for name in ("search", "loop"):
        store.rebuild(name)

    assert store.verify() == []


def test_a_golden_store_goes_on(golden):
    store, answers = golden
    for name in ("search", "loop"):
        store.rebuild(name)

    with store.graph("search") as session:
        session._writer.append([{"stream": "nodes", "id": "new", "node_kind": "variable"}])
    store.compact()
    after = ask(store)

    assert [row[1] for row in after["nodes"] if row[0] == "variable"] == [
        row[1] + 1 for row in answers["nodes"] if row[0] == "variable"
    ]
    assert after["runs"] == answers["runs"]


def test_a_session_from_git_misses_nothing_but_its_index(golden):
    store, _ = golden

    assert {finding.file.rsplit("/", 1)[1] for finding in store.verify()} == {"index"}
