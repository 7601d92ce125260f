"""A session's row from its index is its row in the table."""

import shutil

import pytest

from varvite.adapters.pi_log import PiLog
from varvite.experiment import rows
from varvite.experiment.session import Metric
from varvite.store import Store

TABLE = "from experiment_sessions order by id"


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


@pytest.fixture
def same(store):
    """Asserts that index and table tell the same of each session; returns the rows by id."""

    def same():
        told = [rows.session(row) for row in store.sql(TABLE).dicts()]
        assert [store.seen(row.id) for row in told] == told
        return {row.id: row for row in told}

    return same


def steps(session):
    """All that changes a session, one by one."""
    session.start(Metric("ms", "ms"), name="n", project_id="p", tags=["a"], max_iterations=3)
    yield
    run = session.append_record({"type": "run", "status": "discard", "metric": 2.0}).cursor
    yield
    session.append_record({"type": "run", "status": "keep", "metric": 1.0})
    yield
    session.append_record({"type": "hook", "payload": {"stage": "after"}})
    yield
    first = session.baseline().id
    session.record_kept(first)
    yield
    session.set_best_run(first)
    yield
    session.update_record_payload(first, {"commit": "abc"})
    yield
    session.update(name="m", metadata={"k": [1]}, project_id=None)
    yield
    session.start_new_segment(Metric("score", "", "maximize"), payload={"working_dir": "/w"})
    yield
    session.update(tags=[], metadata=None)
    yield
    session.transition("finalizing")
    yield
    session.transition("finalized")
    yield
    assert run > 1


def test_after_each_step_the_index_tells_what_the_table_does(store, same):
    with store.experiment("s", create=True, title="t") as session:
        for _ in steps(session):
            same()
    assert same()["s"].status == "finalized"


@pytest.mark.parametrize("title", ["", "t"])
def test_a_session_without_a_config_is_asked_of_the_table(store, same, title):
    with store.experiment("s", create=True, title=title) as session:
        session.append_record({"type": "run", "status": "keep", "metric": 1})

    assert store.seen("s") is None
    assert store.experiments().get("s").name == (title or "s")


def test_a_log_that_was_rewritten_counts_in_both_alike(store, same, tmp_path):
    log = tmp_path / "log.jsonl"
    run = '{"run":1,"metric":%d,"status":"keep"}\n'
    log.write_text('{"type":"config","name":"A"}\n' + run % 3 + run % 2)
    with store.experiment("s", create=True) as session:
        session.import_log(PiLog(log))
        before = same()["s"]
        log.write_text('{"type":"config","name":"B"}\n' + run % 9)
        session.import_log(PiLog(log))

    after = same()["s"]
    assert (len(before.kept_run_ids), len(after.kept_run_ids), after.name) == (2, 1, "B")


def test_what_the_index_has_not_yet_is_read_from_the_journal(store, same, tmp_path):
    with store.experiment("s", create=True) as session:
        session.start(Metric("ms"), name="n")
    index = tmp_path / "store/s/index"
    shutil.copytree(index, tmp_path / "old")
    with store.experiment("s") as session:
        session.append_record({"type": "run", "status": "keep", "metric": 1.0})
        session.update(name="m")
    shutil.rmtree(index)
    shutil.move(tmp_path / "old", index)

    assert same()["s"].name == "m"


def test_without_an_index_the_table_is_asked(store, tmp_path):
    made = store.experiments().create("n", Metric("ms"), session_id="s")
    shutil.rmtree(tmp_path / "store/s/index")

    assert store.experiments().get("s") == made


def test_a_name_of_another_type_than_a_name_is_asked_of_the_table(store):
    with store.experiment("s", create=True) as session:
        session.start(Metric("ms"), name="n", max_iterations="9")

    assert store.seen("s") is None
    assert store.experiments().get("s").max_iterations == 9
