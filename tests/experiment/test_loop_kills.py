"""A `log` that is killed before any of its calls of git leaves what the next open brings to an end."""

import subprocess
import sys
import textwrap

import pytest

from varvite.errors import GitError
from varvite.experiment.session import Metric
from varvite.store import Store

CALLS_MAX = 60
FEW = {"keep": (3, 5), "discard": (4, 9, 15)}
"""Calls of each that are tried in the quick run: before the intent, in between, at the end."""


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


def looped(store, repository):
    """One kept run, then a change that was measured, beside changes of the user's own."""
    repository.commit("src/ms", "100")
    repository.commit("src/old", "old")
    with store.experiment("s", create=True) as session:
        given = {"scope": ["src"], "working_dir": str(repository.path)}
        session.start(Metric("ms"), command="echo METRIC ms=$(cat src/ms)", **given)
        session.run()
        session.log("keep")
        (repository.path / "src/ms").write_text("80")
        (repository.path / "src/new").write_text("new")
        (repository.path / "src/old").unlink()
        (repository.path / "readme").write_text("mine")
        (repository.path / "notes").write_text("mine")
        repository("add", "notes")
        session.run()


def killed_before(call, store, status):
    """Log in a process that is killed before its call number `call` of git; whether it was."""
    code = f"""
        import os, signal
        from varvite.store import Store
        from varvite.experiment import git as module
        inner, calls = module.git, 0
        def outer(*args, **options):
            global calls
            calls += 1
            if calls == {call}: os.kill(os.getpid(), signal.SIGKILL)
            return inner(*args, **options)
        module.git = outer
        with Store({store.path!r}).experiment("s") as session:
            session.log({status!r}, description="tried")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (-9, 0), done.stderr
    return done.returncode == -9


def assert_brought_to_an_end(store, repository, status):
    """No kept run without its commit, no commit without its run, and the user's changes as theirs."""
    with store.experiment("s") as session:
        if session.state().runs == 1:
            session.log(status, description="again")
        assert session.state().runs == 2
        kept = [run["commit"] for run in session.brief()["recent"] if run["status"] == "keep"]
    expected = {"keep": ("80", "new", None), "discard": ("100", None, "old")}[status]
    paths = [repository.path / name for name in ("src/ms", "src/new", "src/old")]
    found = [path.read_text() if path.exists() else None for path in paths]
    assert tuple(found) == expected
    assert repository("status", "--porcelain").split("\n") == ["A  notes", " M readme"]
    assert (repository.path / "readme").read_text() == "mine"
    history = repository("rev-list", "--reverse", "HEAD").split()
    assert kept == history[2:]


@pytest.mark.parametrize("status", ["keep", "discard"])
def test_a_log_killed_before_a_call_of_git_is_brought_to_an_end(status, tmp_path, make_repository):
    for call in FEW[status]:
        store, repository = Store(str(tmp_path / f"store-{call}")), make_repository(f"w-{call}")
        looped(store, repository)

        assert killed_before(call, store, status)

        assert_brought_to_an_end(store, repository, status)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("status", ["keep", "discard"])
def test_a_log_killed_before_any_call_of_git_is_brought_to_an_end(
    status, tmp_path, make_repository
):
    for call in range(1, CALLS_MAX):
        store, repository = Store(str(tmp_path / f"store-{call}")), make_repository(f"w-{call}")
        looped(store, repository)

        killed = killed_before(call, store, status)

        assert_brought_to_an_end(store, repository, status)
        if not killed:
            break
    assert not killed
    assert call > max(FEW[status])


@pytest.mark.parametrize("status", ["keep", "discard"])
def test_a_lock_that_a_killed_git_left_stops_the_log_and_nothing_is_lost(
    store, make_repository, status
):
    repository = make_repository("work")
    looped(store, repository)
    before, lock = repository.files(), repository.path / ".git/index.lock"
    lock.write_text("")
    with store.experiment("s") as session, pytest.raises(GitError, match=r"index\.lock"):
        session.log(status)
    assert repository.files() == before or status == "discard"

    lock.unlink()

    assert_brought_to_an_end(store, repository, status)


@pytest.mark.parametrize("status", ["confirm", "pending"])
def test_a_run_that_decides_nothing_leaves_all_files(store, make_repository, status):
    repository = make_repository("work")
    looped(store, repository)
    before = repository.state()

    with store.experiment("s") as session:
        done = session.log(status)

    assert (done.commit, done.saved, done.taken_back) == (None, None, [])
    assert repository.state() == before
