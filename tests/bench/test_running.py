import os
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.bench.conftest import SIZES

from varvite import checkpoints
from varvite.bench import history, running, seeding
from varvite.bench.operations import CONTINUATION, Operation, Place
from varvite.bench.running import Plan
from varvite.bench.seeding import SESSION
from varvite.checkpoints.job import Stage
from varvite.errors import NotFoundError, SessionLockedError
from varvite.session import parts
from varvite.testing import toy_job
from varvite.testing.toy_job import TOY

LIST = next(one for one in CONTINUATION if one.name == "list")
COUNTS = {
    "open": {"bytes_written", "keys", "bytes_read", "files_opened", "files_touched"},
    "submit": {"bytes_written", "keys", "files_opened", "files_touched"},
    "resume": {"bytes_written", "keys", "bytes_read", "files_opened", "files_touched"},
    "list": {"bytes_read", "files_opened", "files_touched"},
    "poll": {"bytes_read"},
    "brief": {"bytes_read", "files_opened", "files_touched", "keys"},
}


def by_name(measured):
    return {(one.operation, one.records): one for one in measured.figures}


def test_every_operation_is_measured_on_every_history(measured):
    continuing = [one.name for one in CONTINUATION]
    others = [history.COMPACT, *history.QUESTIONS]

    assert [(one.operation, one.records) for one in measured.figures] == [
        (name, size) for name in continuing + others for size in measured.sizes
    ]
    assert [one.operation for one in measured.figures if not one.history] == [
        name for name in continuing for _ in measured.sizes
    ]


def test_a_continuation_of_ours_is_flat(measured):
    assert [one for one in measured.growths if one.failed] == []
    assert measured.flat


@pytest.mark.parametrize("operation", COUNTS)
def test_what_an_operation_must_do_was_counted(measured, operation):
    counted = by_name(measured)[operation, measured.sizes[-1]]

    zero = {"bytes_read", "files_opened", "files_touched", "keys", "bytes_written"}
    assert {name for name in zero if counted.counts[name]} == COUNTS[operation]
    assert counted.counts["bytes_read_outside"] > counted.counts["bytes_read"]
    assert counted.seconds > 0
    assert (counted.floor_s is not None) == ("bytes_written" in COUNTS[operation])


def test_compaction_and_questions_read_the_history_and_have_a_floor_beside_them(measured):
    small, large = (by_name(measured)[history.COMPACT, size] for size in measured.sizes)

    assert large.facts["MB"] > 5 * small.facts["MB"]
    assert large.counts["bytes_read"] > 1e6
    assert all(one.ratio for one in measured.figures if one.history)


def _journal_through_files(place):
    with place.store._folder() as store, store.folder(SESSION) as session:
        return sum(1 for _ in parts.batches(session))


def _journal_past_files(place):
    with open(os.path.join(place.path, SESSION, "events.jsonl"), "rb") as file:
        return len(file.read()) + _nodes(place)


def _nodes(place):
    with open(os.path.join(place.path, SESSION, "nodes.jsonl"), "rb") as file:
        return len(file.read())


def _keys(place):
    with place.store.looking(SESSION) as looking:
        return [looking.read("nodes", str(key)) for key in range(looking.cursor)]


def _files(place):
    size = os.path.getsize(os.path.join(place.path, SESSION, "nodes.jsonl"))
    more = ("nodes.jsonl", "edges.jsonl", "sightings.jsonl")[: 1 + (size > 1_000_000)]
    for name in more:
        with open(os.path.join(place.path, SESSION, name), "rb"):
            pass


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (_journal_through_files, {"bytes_read", "bytes_read_outside"}),
        (_journal_past_files, {"bytes_read_outside"}),
        (_keys, {"keys"}),
        (_files, {"files_touched"}),
    ],
)
def test_an_operation_that_reads_history_is_found_to_grow(run_with, call, names):
    @contextmanager
    def ready(place):
        yield lambda: call(place)

    measured = run_with(Operation("reads", ready))

    assert {one.what for one in measured.growths if one.failed} >= names
    assert not measured.flat


def test_what_may_read_history_decides_nothing(measured):
    judged = {one.operation for one in measured.growths if one.decides}

    assert judged == {one.name for one in CONTINUATION}


def test_the_first_round_is_thrown_away_and_the_sizes_take_turns(run_with):
    called = []

    @contextmanager
    def ready(place):
        first = place.path not in called
        called.append(place.path)
        yield lambda: place.store.sessions() if first else None

    found = run_with(Operation("warms", ready))

    small, large = called[:2]
    assert called == [small, large, large, small]
    assert [one.counts["bytes_read"] for one in found.figures if not one.history] == [0, 0]


def test_some_operations_alone_read_no_history(folder, measured):
    found = running.run(Plan(folder, SIZES, rounds=1, keep=True, only=("poll", "list")))

    assert [one.operation for one in found.figures] == ["list"] * 2 + ["poll"] * 2


def test_kept_histories_are_used_again(measured, run_with, monkeypatch):
    monkeypatch.setattr(seeding, "grow", None)

    assert run_with(LIST).sizes == measured.sizes


def test_histories_are_gone_unless_they_are_kept_and_so_is_what_was_worked_on(tmp_path):
    running.run(Plan(str(tmp_path), (300,), rounds=1, continuation=(LIST,)))

    assert [one.name for one in tmp_path.iterdir()] == ["lock"]


def test_what_a_killed_run_was_working_on_is_removed_by_the_next(folder, run_with):
    left = os.path.join(folder, "work", "1000000")
    os.makedirs(left)

    run_with(LIST)

    assert not os.path.exists(os.path.dirname(left))


def test_two_runs_do_not_work_in_one_folder(folder, run_with):
    refused = []

    @contextmanager
    def ready(place):
        with pytest.raises(SessionLockedError) as error:
            run_with(LIST)
        refused.append(error.value)
        yield place.store.sessions

    run_with(Operation("runs", ready))

    assert {one.pid for one in refused} == {os.getpid()}


def test_a_seed_that_was_cut_short_is_made_anew(tmp_path, monkeypatch):
    def cut_short(store, session_id, records, **options):
        store.graph(session_id, create=True).close()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(seeding, "grow", cut_short)
        seeding.seeded(str(tmp_path), 300)

    path = seeding.seeded(str(tmp_path), 300)

    assert Place.at(path, 1).store.session(SESSION)["cursor"] >= 300


def test_a_copy_that_is_changed_leaves_the_seed_as_it_was(tmp_path):
    source = seeding.seeded(str(tmp_path), 300)
    before = _bytes(source)
    seeding.copy(source, f"{tmp_path}/copy")

    place = Place.at(f"{tmp_path}/copy", 1)
    with place.store.graph(SESSION) as session:
        session.submit([place.payload()])
    place.store.compact()

    assert _bytes(source) == before


def _bytes(path):
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.join(folder, name)] = file.read()
    return found


def _without_gaia(run):
    raise NotFoundError("there is no Gaia to ask")


@pytest.fixture
def jobs(monkeypatch):
    """There is a job that reads graph sessions, one that reads others, and one that cannot."""
    toy_job.install()
    other = replace(TOY, name="other", kind="experiment")
    needy = replace(TOY, name="needy", stages=(Stage("check", _without_gaia),))
    found = {one.name: one for one in (needy, TOY, other)}
    monkeypatch.setattr(checkpoints, "jobs", lambda: found)


def test_each_checkpoint_that_reads_graphs_and_can_be_done_has_a_row(jobs, folder):
    found = running.run(Plan(folder, SIZES, rounds=1, keep=True, continuation=(LIST,)))

    rows = [one for one in found.figures if one.operation.startswith("checkpoint")]
    assert [(one.operation, one.records) for one in rows] == [
        ("checkpoint toy", size) for size in SIZES
    ]
    assert all(one.history and one.ratio for one in rows)
    counts = [one.counts for one in rows]
    assert all(one["bytes_read_all"] > one["bytes_read_outside"] > 10_000 for one in counts)
    assert found.left_out == {"checkpoint needy": "there is no Gaia to ask"}
