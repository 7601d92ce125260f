"""`varvite experiment finalize` in a real repository."""

import json
import subprocess

import pytest

from varvite.store import Store


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "work"
    path.mkdir()

    def git(*words):
        done = subprocess.run(["git", *words], cwd=path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("config", "user.email", "a@example.org")
    git("config", "user.name", "A")
    git.path = path
    return git


def commit(git, name, text):
    (git.path / name).write_text(text)
    git("add", name)
    git("commit", "-q", "-m", f"change {name}")
    return git("rev-parse", "HEAD")


@pytest.fixture
def kept(varvite, repository):
    """A session whose kept runs are commits of the repository, a group each as given."""

    def kept(*runs):
        base = commit(repository, "readme", "start")
        with Store(str(varvite.store)).experiment("s", create=True) as session:
            session.append_record({"type": "run", "status": "keep", "metric": 9, "commit": base})
            for number, (name, group) in enumerate(runs):
                run = {"type": "run", "status": "keep", "metric": number}
                run["commit"] = commit(repository, name, str(number))[:7]
                session.append_record(run | {"payload": {"asi": {"group": group}}})
        return base

    return kept


def branches(git):
    return git("for-each-ref", "--format=%(refname:short)", "refs/heads/experiment").split()


def test_kept_runs_become_branches_and_the_session_is_finalized(varvite, repository, kept):
    base = kept(("a", "Latency"), ("b", "Memory"), ("a", "Latency"))

    args = ("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)
    answer = varvite.json(*args)

    assert answer["status"] == "finalized"
    assert branches(repository) == ["experiment/s/latency-2", "experiment/s/memory-3"]
    assert sorted(answer["branches"]) == branches(repository)
    store = Store(str(varvite.store))
    assert store.experiments().get("s").finalized_at is not None
    (record,) = store.experiments().list_records("s", type="finalize")
    assert record.payload["branches"] == answer["branches"]


def test_a_dry_run_writes_nothing(varvite, repository, kept):
    base = kept(("a", "Latency"))
    cursor = Store(str(varvite.store)).session("s")["cursor"]
    args = ("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)

    answer = varvite.json(*args, "--dry-run")

    assert (answer["status"], answer["branches"], branches(repository)) == ("active", {}, [])
    assert [group["branch"] for group in answer["groups"]] == ["experiment/s/latency-2"]
    assert Store(str(varvite.store)).session("s")["cursor"] == cursor


@pytest.mark.parametrize(
    ("runs", "taken", "code", "kind"),
    [
        ([("a", "x"), ("a", "y")], None, 2, "plan_error"),
        ([("a", "x")], "experiment/s/x-2", 8, "git"),
        ([], None, 2, "plan_error"),
    ],
)
def test_what_fails_leaves_the_session_active(varvite, repository, kept, runs, taken, code, kind):
    base = kept(*runs)
    if taken:
        repository("branch", taken)
    before = branches(repository)

    args = ("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)
    error = varvite.refused(code, *args)

    assert error["code"] == kind
    assert branches(repository) == before
    assert Store(str(varvite.store)).experiments().get("s").status == "active"


def test_groups_can_be_given(varvite, repository, kept, tmp_path):
    base = kept(("a", "x"), ("b", "y"))
    runs = [run.id for run in Store(str(varvite.store)).experiments().list_records("s", type="run")]
    plan = tmp_path / "plan.json"
    group = {"title": "All", "runRecordIds": runs, "suggestedBranchName": "all-of-it"}
    plan.write_text(json.dumps({"groups": [group]}))
    args = ("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)

    answer = varvite.json(*args, "--plan", plan)

    assert list(answer["branches"]) == ["all-of-it"]
    assert repository("diff", "--name-only", base, "all-of-it").split() == ["a", "b"]
