"""The checkpoint that holds what is derived against the journal."""

import os

import pytest


@pytest.fixture
def session(store):
    return os.path.join(store.path, "s")


def test_a_sound_session_is_equal_and_nothing_is_made_anew(store, session):
    before = os.stat(f"{session}/nodes.jsonl").st_ino

    (ran,) = store.checkpoint("rebuild", "s", apply=True)

    assert ran.receipt.results == {"equal": True, "differences": 0}
    assert ran.applied == {"equal": 1}
    assert os.stat(f"{session}/nodes.jsonl").st_ino == before


@pytest.mark.parametrize("file", ["nodes.jsonl", "state.json"])
def test_a_changed_file_is_named_and_made_anew(store, session, file):
    with open(f"{session}/{file}", "r+b") as opened:
        opened.seek(20)
        opened.write(b"#")

    (found,) = store.checkpoint("rebuild", "s")
    (mended,) = store.checkpoint("rebuild", "s", apply=True)
    (again,) = store.checkpoint("rebuild", "s")

    rows = found.answers.table("differences").to_pylist()
    assert [os.path.basename(row["file"]) for row in rows] == [file]
    assert mended.applied == {"rebuilt": 1}
    assert again.receipt.results["equal"]


def test_it_is_done_each_time_since_files_change_though_the_cursor_stays(store):
    states = [store.checkpoint("rebuild", "s")[0].state for _ in range(2)]

    assert states == ["ran", "ran"]


def test_an_open_session_is_left_to_its_writer(store, session):
    with store.graph("s"):
        with open(f"{session}/events.jsonl", "r+b") as opened:
            opened.seek(20)
            opened.write(b"#")

        (ran,) = store.checkpoint("rebuild", "s", apply=True)

    assert not ran.receipt.results["equal"]
    assert ran.applied == {"waiting": 1}


def test_experiment_sessions_too(store):
    from varvite.experiment.session import Metric

    store.experiment("e", create=True, metric=Metric("ms", "ms")).close()

    assert [one.receipt.results["equal"] for one in store.checkpoint("rebuild")] == [True, True]
