import json
import subprocess
import sys
import textwrap
import time

import pytest

from varvite.adapters.pi_log import PiLog
from varvite.errors import (
    GitError,
    InvalidRecordError,
    IterationLimitError,
    SessionStatusError,
)
from varvite.experiment.fusion_git import fusion_revert, preserved_by_fusion
from varvite.experiment.git import message, preserved
from varvite.experiment.session import Metric

BENCHMARK = "echo METRIC ms=$(cat src/ms); echo METRIC kb=3"


class Repo:
    def __init__(self, path):
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.com")
        self.git("config", "user.name", "A")
        self.write("src/ms", "100")
        self.write("README", "readme")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "start")

    def git(self, *words):
        done = subprocess.run(
            ["git", *words], cwd=self.path, capture_output=True, text=True, check=True
        )
        return done.stdout

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name):
        return (self.path / name).read_text()

    def status(self):
        return self.git("status", "--porcelain").splitlines()

    def head(self):
        return self.git("rev-parse", "HEAD").strip()

    def files(self, commit="HEAD"):
        return self.git("show", "--name-only", "--format=", commit).split()


@pytest.fixture
def repo(tmp_path):
    return Repo(tmp_path / "repo")


@pytest.fixture
def looping(open_session, repo):
    def start(**settings):
        session = open_session()
        given = {"scope": ["src"], "command": BENCHMARK, "working_dir": str(repo.path)}
        session.start(Metric("ms", "ms"), name="faster", **(given | settings))
        return session

    return start


def test_a_keep_commits_the_files_of_its_scope_alone(looping, repo):
    session = looping()
    repo.write("README", "mine")
    repo.write("notes", "mine too")
    session.run()
    repo.git("add", "README")
    repo.write("src/ms", "80")
    repo.write("src/new", "new")
    session.run()

    done = session.log("keep", description="less work")

    assert done.commit == repo.head()
    assert repo.files() == ["src/ms", "src/new"]
    assert repo.status() == ["M  README", "?? notes"]
    assert (session.best().metric, session.best().id) == (80, done.run_id)


def test_a_commit_says_which_run_it_is(looping, repo):
    session = looping()
    session.run()
    repo.write("src/ms", "80")
    session.run()

    done = session.log("keep", description="less work")

    assert repo.git("log", "-1", "--format=%B").splitlines()[:3] == [
        "less work",
        "",
        'Result: {"status":"keep","ms":80,"kb":3}',
    ]
    trailer = "--format=%(trailers:key=Varvite-Run,valueonly)"
    assert repo.git("log", "-1", trailer).strip() == done.run_id


def test_a_keep_without_changes_is_the_commit_that_was_measured(looping, repo):
    session = looping()
    session.run()

    assert session.log("keep").commit == repo.head()
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"


@pytest.mark.parametrize("status", ["discard", "crash", "checks_failed", "errored"])
def test_a_discard_takes_the_scope_back_and_saves_what_it_was(looping, repo, status):
    session = looping()
    session.run()
    session.log("keep")
    repo.write("README", "mine")
    repo.write("notes", "mine too")
    repo.write(".auto/log.jsonl", "{}")
    repo.write("src/autoresearch.md", "ideas")
    repo.write("src/ms", "120")
    repo.write("src/new/file", "new")
    session.run()

    done = session.log(status, description="no")

    assert done.taken_back == ["src/ms", "src/new/file"]
    assert repo.read("src/ms") == "100"
    assert not (repo.path / "src/new/file").exists()
    assert repo.status() == [" M README", "?? .auto/", "?? notes", "?? src/autoresearch.md"]
    assert repo.git("show", f"{done.saved}:src/new/file") == "new"
    assert repo.files(done.saved) == ["src/ms", "src/new/file"]


def test_a_deleted_and_a_staged_file_come_back(looping, repo):
    session = looping()
    session.run()
    repo.git("rm", "-q", "src/ms")
    repo.write("src/added", "x")
    repo.git("add", "src/added")

    done = session.log("discard")

    assert done.taken_back == ["src/added", "src/ms"]
    assert repo.status() == []


def test_a_deleted_file_can_be_kept(looping, repo):
    repo.write("src/old", "x")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "old")
    session = looping()
    repo_head = repo.head()
    session.run()
    repo.git("rm", "-q", "src/old")
    session.run()

    done = session.log("keep")

    assert (done.commit, repo.status()) == (repo.head(), [])
    assert done.commit != repo_head


def test_the_store_in_the_scope_survives_everything(tmp_path, repo):
    from varvite.store import Store

    with Store(repo.path / ".varvite").experiment("s", create=True) as session:
        given = {"scope": ["."], "command": BENCHMARK, "working_dir": str(repo.path)}
        session.start(Metric("ms"), **given)
        session.run()
        session.log("keep")
        repo.write("src/ms", "120")
        session.run()
        session.log("discard")
        repo.write("src/ms", "90")
        session.run()
        done = session.log("keep")

        assert repo.files() == ["src/ms"]
        assert [run.metric for run in session.kept()] == [100, 90]
        assert done.commit == repo.head()


def test_changes_of_before_the_first_run_are_refused(looping, repo):
    session = looping()
    repo.write("src/mine", "mine")

    with pytest.raises(GitError, match="before the first run: src/mine"):
        session.run()


def test_a_commit_that_fails_is_no_keep(looping, repo):
    session = looping()
    session.run()
    hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\necho no >&2\nexit 1\n")
    hook.chmod(0o755)
    repo.write("src/ms", "80")
    repo.write("src/new", "x")
    session.run()

    with pytest.raises(GitError, match="no"):
        session.log("keep")

    assert (session.state().runs, session.kept()) == (0, [])
    assert repo.status() == [" M src/ms", "?? src/new"]
    hook.unlink()
    assert session.log("keep").commit == repo.head()


def test_a_head_that_moved_since_the_run_is_not_logged(looping, repo):
    session = looping()
    session.run()
    repo.git("commit", "-q", "--allow-empty", "-m", "another")

    with pytest.raises(GitError, match="not what was measured"):
        session.log("keep")

    assert session.state().runs == 0


def edited(repo):
    repo.write("src/ms", "70")


def added(repo):
    repo.write("src/more", "x")


def removed(repo):
    (repo.path / "src/new").unlink()


def made_a_program(repo):
    (repo.path / "src/new").chmod(0o755)


def made_a_link(repo):
    (repo.path / "src/new").unlink()
    (repo.path / "src/new").symlink_to("ms")


def taken_back(repo):
    repo.git("checkout", "-q", "src/ms")


@pytest.mark.parametrize("act", [edited, added, removed, made_a_program, made_a_link, taken_back])
def test_a_keep_of_files_that_were_not_measured_is_refused(looping, repo, act):
    session = looping()
    session.run()
    repo.write("src/ms", "80")
    repo.write("src/new", "new")
    session.run()
    act(repo)
    before, head = repo.status(), repo.head()

    with pytest.raises(GitError, match="not those that were measured"):
        session.log("keep")

    assert (repo.status(), repo.head(), session.state().runs) == (before, head, 0)
    session.run()
    assert session.log("keep").commit == repo.head() != head


def test_what_is_staged_and_what_lies_outside_of_the_scope_is_not_measured(looping, repo):
    session = looping()
    session.run()
    repo.write("src/new", "new")
    session.run()
    repo.git("add", "src/new")
    repo.write("README", "mine")

    assert session.log("keep").commit == repo.head()


@pytest.mark.parametrize("status", ["discard", "confirm"])
def test_other_files_than_were_measured_can_be_logged_as_no_keep(looping, repo, status):
    session = looping()
    session.run()
    repo.write("src/ms", "80")

    assert session.log(status).status == status


def test_files_that_the_benchmark_writes_are_told_and_can_be_kept(looping, repo):
    session = looping(command=f"{BENCHMARK}; date +%N > src/built")

    told = session.run().warnings

    assert told == ["files of the scope changed while it ran"]
    assert session.log("keep").commit == repo.head()
    assert repo.files() == ["src/built"]


def test_a_keep_needs_a_metric_and_checks_that_passed(looping):
    session = looping()
    with pytest.raises(InvalidRecordError, match="keep outcome requires primary metric"):
        session.log("keep")
    session.run(checks="exit 1")
    with pytest.raises(InvalidRecordError, match="the checks failed"):
        session.log("keep")

    assert session.log("checks_failed").status == "checks_failed"
    assert session.best() is None


def test_a_measurement_is_logged_once(looping):
    session = looping()
    session.run()
    session.log("keep")

    with pytest.raises(InvalidRecordError, match="requires primary metric"):
        session.log("keep")


def test_the_limit_stops_the_loop_until_the_next_segment(looping):
    session = looping(max_iterations=1)
    session.run()
    assert session.log("keep").left == 0

    with pytest.raises(IterationLimitError) as refused:
        session.run()

    assert refused.value.limit == 1
    session.start(Metric("ms"))
    assert session.run().metric == 100


def test_a_session_that_is_not_active_does_not_run(looping):
    session = looping()
    session.transition("finalizing")

    with pytest.raises(SessionStatusError, match="Session not active"):
        session.run()


def test_without_a_scope_git_is_left_alone(looping, repo):
    session = looping(scope=None)
    repo.write("src/ms", "120")
    session.run()

    done = session.log("discard")

    assert (done.commit, done.saved, repo.read("src/ms")) == (None, None, "120")


def test_hooks_steer_and_each_fire_is_a_record(looping, repo):
    for stage in ("before", "after"):
        script = repo.write(f".auto/hooks/{stage}.sh", f"cat > {stage}.json; echo {stage} says")
        script.chmod(0o755)
    session = looping()
    session.run()
    cursor = session.cursor

    done = session.log("keep", description="base", asi={"hypothesis": "h"})

    assert done.steer == ["after says", "before says"]
    assert session.cursor - cursor == 4
    after = json.loads(repo.read("after.json"))
    assert after["run_entry"]["asi"] == {"hypothesis": "h"}
    assert after["session"]["direction"] == "lower"
    assert json.loads(repo.read("before.json"))["next_run"] == 2


def test_brief_tells_fifty_runs_whatever_the_history(looping):
    session = looping(scope=None)
    for number in range(60):
        session.append_record(
            {"type": "run", "status": "discard", "metric": number, "description": "d" * 5000}
        )

    brief = session.brief()

    assert [run["ordinal"] for run in brief["recent"]] == list(range(11, 61))
    assert len(json.dumps(brief)) < 50_000
    assert (brief["runs"], brief["metric_name"]) == (60, "ms")


STEPS = {
    "before the intent": ("Loop._intend", "before"),
    "after the intent": ("Loop._intend", "after"),
    "after git": ("Loop._act", "after"),
    "before the outcome": ("Loop._conclude", "before"),
    "after the outcome": ("Loop._conclude", "after"),
    "before the commit": ("Repository.commit", "before"),
    "after taking back": ("Repository.take_back", "after"),
}
STOPS = [
    *((step, status, "kill") for step in list(STEPS)[:5] for status in ("keep", "discard")),
    ("before the commit", "keep", "kill"),
    ("after taking back", "discard", "kill"),
    ("after git", "keep", "raise"),
    ("after git", "discard", "raise"),
]


def killed_at(step, store, status, how):
    """Log in a process of its own that is killed at a step."""
    name, when = STEPS[step]
    cls, method = name.split(".")
    code = f"""
        import os, signal
        from varvite.store import Store
        from varvite.experiment.{"git" if cls == "Repository" else "loop"} import {cls}
        inner = {cls}.{method}
        class Stop(Exception): pass
        def stop():
            if {how!r} == "kill": os.kill(os.getpid(), signal.SIGKILL)
            raise Stop
        def outer(*args, **options):
            if {when!r} == "before": stop()
            inner(*args, **options)
            stop()
        {cls}.{method} = outer
        with Store({str(store)!r}).experiment("s") as session:
            session.log({status!r}, description="tried")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, check=False
    )
    assert done.returncode in (-9, 1), done.stderr


@pytest.mark.parametrize(("step", "status", "how"), STOPS)
def test_a_log_that_is_stopped_is_reconciled_by_the_next_open(tmp_path, repo, step, status, how):
    from varvite.store import Store

    store = Store(tmp_path / "store")
    with store.experiment("s", create=True) as session:
        given = {"scope": ["src"], "command": BENCHMARK, "working_dir": str(repo.path)}
        session.start(Metric("ms"), **given)
        session.run()
        session.log("keep")
        repo.write("src/ms", "80")
        repo.write("src/new", "new")
        repo.write("README", "mine")
        session.run()

    killed_at(step, tmp_path / "store", status, how)

    with store.experiment("s") as session:
        if session.state().runs == 1:
            session.log(status, description="again")
        assert session.state().runs == 2
        commits = [run["commit"] for run in session.brief()["recent"] if run["status"] == "keep"]
    assert repo.read("README") == "mine"
    assert repo.status() == [" M README"]
    history = repo.git("rev-list", "--reverse", "HEAD").split()
    assert commits == history
    assert len(history) == (2 if status == "keep" else 1)


def test_what_was_changed_after_a_stopped_discard_is_not_taken_back(tmp_path, repo):
    from varvite.store import Store

    store = Store(tmp_path / "store")
    with store.experiment("s", create=True) as session:
        given = {"scope": ["src"], "command": BENCHMARK, "working_dir": str(repo.path)}
        session.start(Metric("ms"), **given)
        session.run()
        repo.write("src/ms", "120")
    killed_at("after the intent", tmp_path / "store", "discard", "kill")
    repo.write("src/ms", "mine")

    with store.experiment("s") as session:
        assert session.state().runs == 1

    assert repo.read("src/ms") == "mine"


@pytest.mark.vectors("preserved_path")
def test_paths_are_preserved_as_pi_preserves_them(vector):
    path = vector["input"]["path"]

    made = {"fusion": preserved_by_fusion(path), "pi": preserved(path)}

    assert made == vector["expected"]


@pytest.mark.vectors("commit_message")
def test_a_message_begins_as_pis_does(vector):
    given = vector["input"]
    result = {"status": given["status"], given["metric_name"]: given["metric"]} | given["metrics"]

    text = message(given["description"], result, {"Varvite-Run": "r"})

    subject, _, trailer, last = text.splitlines()
    assert {"subject": subject, "trailer": trailer} == vector["expected"]
    assert last == "Varvite-Run: r"


def test_a_commit_that_outlives_its_killed_writer_gets_its_run(tmp_path, repo):
    from varvite.store import Store

    store = Store(tmp_path / "store")
    with store.experiment("s", create=True) as session:
        given = {"scope": ["src"], "command": BENCHMARK, "working_dir": str(repo.path)}
        session.start(Metric("ms"), **given)
        session.run()
        repo.write("src/ms", "80")
        session.run()
    hook = repo.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch .git/committing\nsleep 1\n")
    hook.chmod(0o755)
    words = ["--store", str(tmp_path / "store"), "experiment", "log", "s", "keep"]
    writer = subprocess.Popen([sys.executable, "-m", "varvite.cli", *words])
    while not (repo.path / ".git/committing").exists():
        time.sleep(0.01)
    writer.kill()
    writer.wait()

    with store.experiment("s") as session:
        recent = session.brief()["recent"]

    assert [(run["status"], run["commit"]) for run in recent] == [("keep", repo.head())]
    assert repo.git("rev-list", "--count", "HEAD").strip() == "2"


@pytest.mark.vectors("hook_append_requires_config")
def test_a_hook_is_logged_where_pi_logs_it(vector, tmp_path, open_session):
    script = tmp_path / ".auto" / "hooks" / "before.sh"
    script.parent.mkdir(parents=True)
    script.write_text("exit 0")
    script.chmod(0o755)
    log, session = tmp_path / "log.jsonl", open_session("s")
    records = tmp_path / "s" / "records.jsonl"
    if vector["input"]["existing"] is not None:
        log.write_text(vector["input"]["existing"])
        session.import_log(PiLog(log))
    cursor = session.cursor

    session.loop(str(tmp_path)).fire("before", {})

    made = {"appended": session.cursor > cursor, "file_exists": records.stat().st_size > 0}
    assert made == vector["expected"]


@pytest.mark.vectors("revert_sequence")
def test_fusions_revert_calls_git_as_fusion_does(vector):
    given = vector["input"]

    plan = fusion_revert(given["status_porcelain"], "base", given["stash_ref"])

    assert plan == vector["expected"]
