"""pi's three tools, step by step as the real extension did them."""

import json
import subprocess

import pytest

from varvite.errors import VarviteError
from varvite.experiment.pi_tools import PiTools

SETUPS = {
    "max iterations stops and blocks": {".auto/config.json": '{"maxIterations": 2}'},
    "checks failed blocks keep": {},
    "checks timeout": {".auto/checks.sh": "sleep 30"},
    "checks skipped when benchmark fails": {".auto/checks.sh": "exit 0"},
    "benchmark guard when measure.sh exists": {".auto/measure.sh": "echo METRIC ms=7"},
    "non-executable hook ignored": {".auto/hooks/after.sh": "echo no"},
    "keep with clean tree makes no commit": {".gitignore": ".auto/\n"},
}
"""What lies in the folder beforehand, beside two files of the user."""

CHECKS = "checks failed blocks keep"
EDITED = "basic keep/discard/crash git effects"
EDITS = {"echo METRIC ms=80": "2\n", "echo METRIC ms=120": "3\n"}
"""What the agent writes into the files before it measures these."""


class Folder:
    """A repository in which the tools are called."""

    def __init__(self, path, case, reading):
        self.path, self.case, self._reading = path, case, reading
        self.steer = []
        path.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.email", "a@example.com")
        self.git("config", "user.name", "A")
        self.edit("1\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "init")
        self.known = [self.head()]
        for name, text in SETUPS.get(case, {}).items():
            self.write(name, text)
            (path / name).chmod(0o644 if "hooks" in name else 0o755)
        self.tools = PiTools(str(path))

    def git(self, *words):
        command = ["git", *words]
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=True)
        return done.stdout

    def head(self):
        return self.git("rev-parse", "HEAD").strip()

    def write(self, name, text):
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def edit(self, text):
        self.write("a.txt", text), self.write("b.txt", text)

    def step(self, call, args):
        before, given = self.head(), {"text": args} if isinstance(args, str) else args
        try:
            said = {"ok": True} | getattr(self, call)(**given)
        except VarviteError:
            said = {"ok": False} | self.refused(call)
        moved = self.head() != before
        self.known += [self.head()] if moved else []
        if call in ("sh", "restart"):
            return {}
        return said | {"head_moved": moved, "limit_reached": self.tools.limit_reached}

    def refused(self, call):
        """pi tells of checks wherever a command was looked at."""
        looked = call == "run_experiment" and not self.tools.limit_reached
        return {"checks_pass": None, "timed_out": False} if looked else {}

    def init_experiment(self, name, metric_name, **options):
        self.tools.init(name, metric_name, **options)
        segment = self.tools.state.segment
        return {"baseline": None, "confidence": None, "segment": segment}

    def run_experiment(self, command, **options):
        if self.case == EDITED and command in EDITS:
            self.edit(EDITS[command])
        if self.case == CHECKS:
            passes = len(self.tools.state.runs) > 0
            self.write(".auto/checks.sh", f"exit {0 if passes else 1}")
        ran = self.tools.run(command, **options)
        told = {self.tools.state.metric_name: ran.metric} | ran.metrics
        parsed = {name: value for name, value in told.items() if value is not None}
        passed = ran.checks["passed"] if ran.checks else None
        said = {"checks_pass": passed, "timed_out": ran.timed_out}
        return said | ({"parsed": parsed} if parsed else {})

    def log_experiment(self, commit, metric, status, description, **options):
        done = self.tools.log(
            metric, status, description, commit=self.git("rev-parse", commit).strip(), **options
        )
        self.steer += done.steer
        segment = done.run.segment
        return {"baseline": done.baseline, "confidence": done.confidence, "segment": segment}

    def sh(self, text):
        subprocess.run(["bash", "-c", text], cwd=self.path, check=True)
        return {}

    def restart(self):
        with open(self.tools.log_path, "rb") as file:
            self.tools = PiTools(str(self.path), self._reading(file.read()))
        return {}

    def log(self):
        path = self.path / ".auto/log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def told_log(self):
        """The log with commits by their number, and no times."""
        names = {sha[:7]: f"C{number}" for number, sha in enumerate(self.known)}
        return [
            line | {"commit": names[line["commit"]], "timestamp": "<TS>"} if "run" in line else line
            for line in self.log()
        ]


@pytest.mark.vectors("pi_end_to_end")
def test_the_tools_do_step_by_step_what_pis_do(vector, tmp_path, pi_reading):
    folder = Folder(tmp_path / "work", vector["input"]["case"], pi_reading)

    steps = [folder.step(each["call"], each.get("args", {})) for each in vector["input"]["steps"]]

    messages = folder.git("log", "--reverse", "--format=%B%x00").split("\0")[:-1]
    assert {
        "log": folder.told_log(),
        "log_path": str(folder.tools.log_path).removeprefix(f"{folder.path}/"),
        "key_order": [list(line) for line in folder.log()],
        "steps": steps,
        "git_messages": [text.strip() for text in messages],
        "worktree": {name: (folder.path / name).read_text() for name in ("a.txt", "b.txt")},
        "status": folder.git("status", "--porcelain").strip(),
        "steer": folder.steer,
    } == vector["expected"]


@pytest.fixture
def folder(tmp_path, pi_reading):
    return Folder(tmp_path / "work", "", pi_reading)


def test_a_discard_takes_back_all_but_pis_own_files(folder):
    folder.tools.init("S", "ms")
    folder.edit("3\n")
    for name in ("new/file", "sub/autoresearch.md", "sub/.auto/notes"):
        folder.write(name, "x")

    folder.tools.log(1, "discard", "no", commit=folder.head())

    assert (folder.path / "a.txt").read_text() == "1\n"
    there = [(folder.path / name).exists() for name in ("new/file", "sub/autoresearch.md")]
    assert there == [False, True]
    assert (folder.path / "sub/.auto/notes").exists()


def test_hooks_steer_and_are_logged(folder):
    for stage in ("before", "after"):
        folder.write(f".auto/hooks/{stage}.sh", f"echo {stage} says")
        (folder.path / f".auto/hooks/{stage}.sh").chmod(0o755)
    folder.tools.init("S", "ms")

    done = folder.tools.log(1, "keep", "base", commit=folder.head())

    assert done.steer == ["after says", "before says"]
    assert [line.get("stage") for line in folder.log()] == [None, None, "after", "before"]


def test_a_commit_that_fails_is_a_keep_all_the_same(folder):
    folder.tools.init("S", "ms")
    folder.write(".git/hooks/pre-commit", "exit 1")
    (folder.path / ".git/hooks/pre-commit").chmod(0o755)

    folder.tools.log(1, "keep", "base", commit=folder.head())

    assert (folder.log()[1]["status"], folder.log()[1]["commit"]) == ("keep", folder.head()[:7])
