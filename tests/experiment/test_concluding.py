"""A finalize that is stopped anywhere is brought to an end by the next open."""

import subprocess
import sys
import textwrap

import pytest

from varvite.adapters.pi_log import PiLog
from varvite.errors import FinalizeStateError, GitError
from varvite.experiment import branching
from varvite.experiment.pi_tools import PiTools
from varvite.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


@pytest.fixture
def kept(store, repository):
    """Two kept runs, a group each."""
    with store.experiment("s", create=True) as session:
        for name in ("a", "b"):
            run = {
                "type": "run",
                "status": "keep",
                "metric": 1,
                "payload": {"asi": {"group": name}},
            }
            session.append_record(run | {"commit": repository.commit(name, name)})
    (repository.path / "a").write_text("mine")
    (repository.path / "new").write_text("mine")
    return repository


STEPS = {
    "after the session is finalizing": ("concluding.Ending._begin", "after", "active"),
    "while commits are picked": ("branching.Branching._picked", "after", "active"),
    "before the intent": ("branching.Branching._verify", "after", "active"),
    "after the intent": ("branching.Branching.name", "before", "active"),
    "when one branch has its name": ("branching.Branching.name", "half", "active"),
    "when branches have their names": ("branching.Branching.name", "after", "finalized"),
    "before the last record": ("concluding.Ending._conclude", "before", "finalized"),
    "after the last record": ("concluding.Ending._conclude", "after", "finalized"),
}


QUICK = {"after the intent", "when one branch has its name", "when branches have their names"}


def steps(*ends):
    """The steps of these ends; those that are not among the quick ones are slow."""
    return [
        step if step in QUICK else pytest.param(step, marks=pytest.mark.slow)
        for step, (_, _, end) in STEPS.items()
        if end in ends
    ]


def stopped_at(step, how, store, cwd):
    """Finalize in a process of its own that ends at a step."""
    name, when, _ = STEPS[step]
    module, _, method = name.partition(".")
    code = f"""
        import functools, operator, os, signal
        from varvite.store import Store
        from varvite.experiment import {module} as module
        owner, _, name = {method!r}.rpartition(".")
        owner = operator.attrgetter(owner)(module) if owner else module
        inner = getattr(owner, name)
        class Stop(BaseException): pass
        def stop():
            if {how!r} == "kill": os.kill(os.getpid(), signal.SIGKILL)
            raise Stop
        def outer(*args, **options):
            if {when!r} == "before": stop()
            if {when!r} == "half":
                self, tips = args
                args = self, dict(list(tips.items())[:1])
            inner(*args, **options)
            stop()
        setattr(owner, name, outer)
        with Store({store.path!r}).experiment("s") as session:
            session.ending().finalize({str(cwd)!r}, baseline="main~2")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode in (-9, 1), done.stderr


@pytest.mark.parametrize("step", steps("active", "finalized"))
def test_a_finalize_that_is_killed_is_brought_to_an_end_by_the_next_open(store, kept, step):
    before, state = kept.files(), kept.state()

    stopped_at(step, "kill", store, kept.path)

    with store.experiment("s") as session:
        status = session.status()
    assert status == STEPS[step][2]
    assert kept.files() == before
    if status == "active":
        assert kept.state() == state
        with store.experiment("s") as session:
            session.ending().finalize(str(kept.path), baseline="main~2")
    assert store.experiments().get("s").status == "finalized"
    assert kept.branches("refs/heads/experiment") == ["experiment/s/a-1", "experiment/s/b-2"]
    assert len(store.experiments().list_records("s", type="finalize")) == 1


@pytest.mark.parametrize("step", steps("active"))
def test_a_finalize_that_is_interrupted_takes_all_back_at_once(store, kept, step):
    state = kept.state()

    stopped_at(step, "raise", store, kept.path)

    assert store.experiments().get("s").status == "active"
    assert kept.state() == state


def test_a_branch_that_someone_moved_since_is_left_to_them(store, kept):
    stopped_at("when branches have their names", "kill", store, kept.path)
    kept("branch", "-f", "experiment/s/b-2", "main")

    with store.experiment("s") as session:
        assert session.status() == "active"

    assert kept.branches("refs/heads/experiment") == ["experiment/s/b-2"]


def test_without_its_repository_a_killed_finalize_waits(store, kept):
    stopped_at("when branches have their names", "kill", store, kept.path)
    away = kept.path.rename(kept.path.with_name("away"))
    with store.experiment("s") as session:
        assert session.status() == "finalizing"
        with pytest.raises(GitError):
            session.ending().finalize(str(away))

    away.rename(kept.path)

    with store.experiment("s") as session:
        assert session.status() == "finalized"


def test_a_session_that_someone_set_finalizing_stays_so(store, kept):
    with store.experiment("s") as session:
        session.transition("finalizing")

    with store.experiment("s") as session:
        assert session.status() == "finalizing"
        session.ending().finalize(str(kept.path), baseline="main~2")
        assert session.status() == "finalized"
        with pytest.raises(FinalizeStateError):
            session.ending().finalize(str(kept.path), baseline="main~2")


def test_a_dry_run_writes_nothing_at_all(store, kept):
    with store.experiment("s") as session:
        cursor, state = session.cursor, kept.state()

        made = session.ending().finalize(str(kept.path), baseline="main~2", dry_run=True)

        assert (session.cursor, session.status(), made.tips) == (cursor, "active", {})
    assert [group.branch for group in made.plan.groups] == ["experiment/s/a-1", "experiment/s/b-2"]
    assert kept.state() == state


def test_what_is_made_together_is_the_last_kept_commit(store, kept):
    with store.experiment("s") as session:
        tips = session.ending().finalize(str(kept.path), baseline="main~2").tips

    kept("stash", "-q")
    kept("checkout", "-q", "--detach", "main~2")
    for tip in tips.values():
        kept("-c", "merge.commit=yes", "merge", "-q", "-m", "all", tip)
    assert kept("rev-parse", "HEAD^{tree}") == kept("rev-parse", "main^{tree}")


def test_branches_that_are_not_the_whole_are_not_named(store, kept, monkeypatch):
    monkeypatch.setattr(branching.Branching, "_changes", lambda _self, base, tip: {tip: base})
    state = kept.state()

    with store.experiment("s") as session, pytest.raises(GitError, match="are not"):
        session.ending().finalize(str(kept.path), baseline="main~2")

    assert kept.state() == state
    assert store.experiments().get("s").status == "active"


def test_a_session_that_pi_led_is_finalized_without_pis_own_files(store, repository):
    """pi commits everything, its log too, so each of its commits changes the log."""
    tools = PiTools(str(repository.path))
    repository.commit(".auto/notes", "of before")
    tools.init("faster", "ms")
    for number, (name, group) in enumerate([("a", "one"), ("b", "two"), ("a", "one")]):
        (repository.path / name).write_text(str(number))
        (repository.path / "sub").mkdir(exist_ok=True)
        (repository.path / "sub/autoresearch.md").write_text(str(number))
        tools.log(9 - number, "keep", f"{name} {number}", commit="HEAD", asi={"group": group})
    tools.log(1, "keep", "only the log", commit="HEAD", asi={"group": "none"})

    with store.experiment("s", create=True) as session:
        session.import_log(PiLog(tools.log_path))
        tips = session.ending().finalize(str(repository.path), trunk="main~4").tips

    assert list(tips) == ["experiment/s/one-1", "experiment/s/two-2"]
    for branch, names in zip(tips, (["a"], ["b"]), strict=True):
        assert repository("diff", "--name-only", "main~4", branch).split() == names
        assert repository("show", f"{branch}:.auto/notes") == "of before"
    messages = repository("log", "--reverse", "--format=%s %an", "main~4..experiment/s/one-1")
    assert messages.split("\n") == ["a 0 A", "a 2 A"]
    assert repository("show", "experiment/s/one-1:a") == "2"
