"""Every job, killed before, inside and after each of its stages, beside a writer at work."""

import multiprocessing
import shutil
from itertools import count

import pytest

import varvite
from varvite.checkpoints import jobs
from varvite.checkpoints.running import Options, run
from varvite.store import kind_of
from varvite.testing import mixed
from varvite.testing.recording import RecordingGaia
from varvite.testing.toy_job import dying

SESSION = "search"
MOMENTS = ("before", "inside", "after")
PLACES = [
    (job.name, stage.name, moment)
    for job in jobs().values()
    for stage in job.stages
    for moment in MOMENTS
]
INSIDE = [place for place in PLACES if place[2] == "inside"]
EMPTY = ("rebuild",)
"""Jobs of which a sound store has nothing to tell."""
CHANCE = ("path", "_s", "seconds")
"""How columns end that time and place put into a table."""


@pytest.fixture(scope="module")
def processes():
    """New ones come from a server that has everything loaded already."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["varvite.testing.mixed", "varvite.testing.toy_job", "polars"])
    return made


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    store = varvite.open(tmp_path_factory.mktemp("filled") / "store")
    mixed.fill(store)
    store.compact()
    with store.graph(SESSION) as session:
        session.open_bucket("Later")
    return store


@pytest.fixture
def store(filled, tmp_path):
    return varvite.open(shutil.copytree(filled.path, tmp_path / "store"))


def do(path, name, at=None, as_of=None):
    """Run a job; killed `at` a stage and a moment of it."""
    job = jobs()[name]
    session = None if job.wide else SESSION
    options = Options(gaia=RecordingGaia(), as_of=as_of)
    with varvite.open(path)._folder() as folder:
        return run(folder, dying(job, *at) if at else job, session, {}, options, kind_of=kind_of)


def work(path, stop):
    """Append to the session, compact and sweep until told to stop."""
    store = varvite.open(path)
    for number in count():
        mixed.append(
            store, SESSION, [{"stream": "nodes", "id": f"n{number}", "node_kind": "variable"}]
        )
        store.compact()
        store.gc(grace_hours=0)
        if stop.is_set():
            return


def found(ran):
    """What a run came to, but for what time and place put into it."""
    tables = {}
    for name in ran.receipt.tables:
        table = ran.answers.table(name)
        given = [column for column in table.column_names if column.endswith(CHANCE)]
        tables[name] = table.drop_columns(given).to_pylist()
    return tables, ran.receipt.cursors, ran.receipt.proposes


def check(store, processes, name, *at):
    """Killed there and run again beside a writer, it finds what an undisturbed run finds."""
    job = jobs()[name]
    stop = processes.Event()
    victim = processes.Process(target=do, args=(store.path, name, at))
    writer = processes.Process(target=work, args=(store.path, stop))
    busy = not (job.wide or job.outside)

    victim.start()
    if busy:
        writer.start()
    victim.join(60)
    try:
        ran = do(store.path, name)
    finally:
        stop.set()
    if busy:
        writer.join(60)
        assert writer.exitcode == 0
    assert victim.exitcode == -9
    assert [stage.name for stage in ran.receipt.stages] == [stage.name for stage in job.stages]
    resumed = found(ran)
    shutil.rmtree(ran.path)
    whole = do(store.path, name, as_of=ran.receipt.cursor if busy else None)
    assert whole.state == "ran"
    assert resumed == found(whole)
    assert any(resumed[0].values()) == (name not in EMPTY)


@pytest.mark.parametrize("place", INSIDE, ids="-".join)
def test_killed_inside_any_stage_a_job_finds_what_it_would_have(store, processes, place):
    check(store, processes, *place)


@pytest.mark.slow
@pytest.mark.parametrize("place", sorted({*PLACES} - {*INSIDE}), ids="-".join)
def test_killed_between_stages_a_job_finds_what_it_would_have(store, processes, place):
    check(store, processes, *place)
