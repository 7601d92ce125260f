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

    kept.store = varvite.store
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


def overlapping(git, kept):
    return 4, "plan_error", ["--baseline", kept(("a", "x"), ("a", "y"))]


def existing(git, kept):
    base = kept(("a", "x"))
    git("branch", "experiment/s/x-2")
    return 7, "branch_exists", ["--baseline", base]


def nothing_kept(git, kept):
    return 3, "no_kept_runs", ["--baseline", kept()]


def no_baseline(git, kept):
    kept(("a", "x"))
    return 5, "merge_base_error", []


def unknown_trunk(git, kept):
    kept(("a", "x"))
    return 5, "merge_base_error", ["--trunk", "nope"]


def conflicting(git, kept):
    kept(("a", "x"))
    git("checkout", "-q", "--orphan", "elsewhere")
    base = commit(git, "a", "another")
    git("checkout", "-q", "-f", "main")
    return 6, "cherry_pick_conflict", ["--baseline", base]


def incomplete(git, kept):
    base = kept(("a", "x"))
    with Store(str(kept.store)).experiment("s") as session:
        commit(git, "between", "1")
        run = {"type": "run", "status": "keep", "metric": 1, "commit": commit(git, "b", "1")}
        session.append_record(run)
    return 8, "git", ["--baseline", base]


FAILURES = [
    overlapping,
    existing,
    nothing_kept,
    no_baseline,
    unknown_trunk,
    conflicting,
    incomplete,
]


def everything(git):
    """Work tree, index, HEAD, refs and their logs, byte for byte."""
    known = (path for path in git.path.rglob("*") if "objects" not in path.parts)
    return {
        str(path): path.read_bytes()
        for path in known
        if path.is_file() and path.name != "varvite.lock"
    }


@pytest.mark.parametrize("case", FAILURES)
def test_what_fails_has_fusions_kind_and_exit_code_and_changes_nothing(
    varvite, repository, kept, case
):
    code, kind, args = case(repository, kept)
    (repository.path / "readme").write_text("mine")
    (repository.path / "staged").write_text("mine")
    repository("add", "staged")
    (repository.path / "untracked").write_text("mine")
    before = everything(repository)

    error = varvite.refused(code, "experiment", "finalize", "s", "--cwd", repository.path, *args)

    assert error["code"] == kind
    assert everything(repository) == before
    assert Store(str(varvite.store)).experiments().get("s").status == "active"


@pytest.mark.parametrize("status", ["finalized", "archived"])
def test_a_session_that_is_done_is_not_finalized(varvite, repository, kept, status):
    base = kept(("a", "x"))
    for step in ("finalizing", "finalized") if status == "finalized" else ("archived",):
        Store(str(varvite.store)).experiments().update("s", status=step)
    args = ("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)

    error = varvite.refused(2, *args)

    assert error["code"] == "state_error"
    assert error["message"] == f"Session s is not active (status: {status})"


def test_a_session_that_is_not_there_is_a_state_error(varvite, repository, kept):
    kept(("a", "x"))

    error = varvite.refused(2, "experiment", "finalize", "nope", "--cwd", repository.path)

    assert error["code"] == "state_error"
    assert error["message"] == "Experiment session not found: nope"


@pytest.mark.parametrize(
    "groups",
    [
        [{"runRecordIds": []}],
        [{"runRecordIds": ["nope"]}],
        "twice",
        "one branch",
    ],
)
def test_a_plan_that_cannot_be_changes_nothing(varvite, repository, kept, tmp_path, groups):
    base = kept(("a", "x"), ("b", "y"))
    runs = [run.id for run in Store(str(varvite.store)).experiments().list_records("s", type="run")]
    if groups == "twice":
        groups = [{"runRecordIds": runs}, {"runRecordIds": runs[:1]}]
    if groups == "one branch":
        groups = [{"runRecordIds": [run], "suggestedBranchName": "b"} for run in runs[1:]]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"groups": groups}))
    before = everything(repository)
    args = ("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)

    error = varvite.refused(4, *args, "--plan", plan)

    assert error["code"] == "plan_error"
    assert everything(repository) == before


def test_branches_begin_where_head_left_the_trunk(varvite, repository, kept):
    kept(("a", "x"))
    repository("branch", "trunk", "HEAD~1")

    answer = varvite.json(
        "experiment", "finalize", "s", "--cwd", repository.path, "--trunk", "trunk"
    )

    assert repository("rev-parse", "experiment/s/x-2^") == answer["baseline_commit"]
    assert answer["baseline_commit"] == repository("rev-parse", "trunk")


def test_a_first_kept_commit_without_one_before_it_is_told_with_the_remedy(
    varvite, repository, kept
):
    base = kept(("a", "x"))
    args = ("experiment", "finalize", "s", "--cwd", repository.path)

    error = varvite.refused(5, *args)
    answer = varvite.json(*args, "--baseline", base[:7])

    assert error["hint"] == f"--baseline {base[:7]} begins at that commit itself"
    assert f"the first kept commit, {base[:7]}, has none before it" in error["message"]
    assert list(answer["branches"]) == ["experiment/s/x-2"]


def test_from_a_detached_head_it_goes_as_from_a_branch(varvite, repository, kept):
    base = kept(("a", "x"))
    repository("checkout", "-q", "--detach")

    varvite.json("experiment", "finalize", "s", "--cwd", repository.path, "--baseline", base)

    assert branches(repository) == ["experiment/s/x-2"]
    assert repository("rev-parse", "--symbolic-full-name", "HEAD") == "HEAD"


def test_a_groups_file_is_split_as_pi_does(varvite, repository, kept, tmp_path):
    base = kept(("a", "x"))
    repository("checkout", "-q", "-b", "session")
    tip = repository("rev-parse", "HEAD")
    group = {"title": "A", "body": "", "last_commit": tip, "slug": "a"}
    groups = {"base": base, "trunk": "main", "final_tree": tip, "goal": "g", "groups": [group]}
    file = tmp_path / "groups.json"
    file.write_text(json.dumps(groups))

    answer = varvite.json("experiment", "split", file, "--cwd", repository.path)

    assert list(answer["branches"]) == ["autoresearch/g/01-a"]
    assert varvite("experiment", "split").exit_code == 2
    assert varvite.refused(2, "experiment", "split", tmp_path / "no")["code"] == "invalid_input"


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
