"""Fusion's executor, init, run and log, in Fusion's rules; for programs that were written for it.

It points best at the last keep, whatever its metric, and a commit that fails leaves a
keep without one. The loop of this project does neither: see `loop`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from varvite.errors import (
    ExperimentGitNotConfiguredError,
    ExperimentMaxIterationsError,
    InvalidRecordError,
    SessionNotFoundError,
    SessionStatusError,
)
from varvite.experiment.fusion_git import fusion_revert
from varvite.experiment.metric_lines import parse
from varvite.experiment.rows import Record, Session
from varvite.experiment.running import Executed, execute

OUTCOMES = ("keep", "discard", "checks_failed", "errored", "pending")
TIMEOUT_S = 600.0
_OPEN = ("active", "finalizing")
_NEED_BASELINE = ("discard", "checks_failed")
_REVERT = (*_NEED_BASELINE, "errored")


class Experiments(Protocol):
    """What the executor needs of the store's calls, by Fusion's rules."""

    def create(self, name: str, metric: Any, **about: Any) -> Session: ...
    def get(self, session_id: str) -> Session | None: ...
    def list(self, *, project_id: str | None = None) -> list[Session]: ...
    def append_record(self, session_id: str, type: str, payload: Any) -> Record: ...  # noqa: A002
    def list_records(self, session_id: str, *, type: str, segment: int) -> "Records": ...  # noqa: A002
    def start_new_segment(self, session_id: str, payload: Any) -> Record: ...
    def set_best_run(self, session_id: str, run_id: str) -> Session: ...
    def record_kept(self, session_id: str, run_id: str) -> Session: ...
    def update_record_payload(self, record_id: str, patch: Mapping[str, Any]) -> Record: ...


Records = list[Record]


class Git(Protocol):
    """Fusion's git operations, by their names."""

    def add(self, paths: list[str]) -> None: ...
    def commit(self, message: str) -> str: ...
    def status_porcelain(self) -> str: ...
    def stash_push(self) -> str | None: ...
    def stash_pop(self, stash: str) -> None: ...
    def reset_hard(self, commit: str) -> None: ...


@dataclass(frozen=True, slots=True)
class RunResult:
    """What was measured. primary: the first METRIC line, whatever its name."""

    status: str
    exit_code: int | None
    output: str
    duration_ms: int
    primary: dict[str, Any] | None = None
    secondary: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """record: as it was given, before its commit was known; a metric may be NaN, stored as null."""

    record: Record
    commit: str | None = None
    reverted_to: str | None = None


class FusionExecutor:
    """git: None where keeps and reverts are not possible."""

    def __init__(self, experiments: Experiments, git: Git | None = None) -> None:
        self._experiments, self._git = experiments, git

    def init(
        self, name: str, metric: Any, *, project_id: str | None = None, **about: Any
    ) -> Session:
        """A session; of an open one of this name a new segment, which keeps metric and limit."""
        payload = {"metric": {"name": metric.name, "direction": metric.direction}}
        limit = about.get("max_iterations")
        payload |= {"maxIterations": limit} if limit is not None else {}
        for session in self._experiments.list(project_id=project_id):
            if session.name == name and session.status in _OPEN:
                self._experiments.start_new_segment(session.id, payload)
                return self._session(session.id)
        return self._experiments.create(name, metric, project_id=project_id, **about)

    def run(
        self, session_id: str, command: str, *, cwd: str, timeout_s: float = TIMEOUT_S
    ) -> RunResult:
        """Measure; nothing is recorded.

        Raises:
            SessionStatusError: the session is not active.
            ExperimentMaxIterationsError: .limit
        """
        session = self._experiments.get(session_id)
        if session is None or session.status != "active":
            status = session.status if session else None
            raise SessionStatusError("Session not active", status=status)
        self._refuse_beyond_limit(session)
        return _result(execute(command, cwd=cwd, timeout_s=timeout_s))

    def log(
        self,
        session_id: str,
        result: RunResult,
        outcome: str,
        *,
        baseline_commit: str | None = None,
        **told: Any,
    ) -> LoggedRun:
        """Record a run, then commit or revert everything. told: description, asi, confidence.

        Raises:
            InvalidRecordError, SessionNotFoundError, SessionStatusError
            ExperimentGitNotConfiguredError: there is no git.
            GitError: it failed, and the run stays.
        """
        self._session(session_id)
        self._check(outcome, result, baseline_commit)
        primary = result.primary["value"] if result.primary else math.nan
        payload = {"primaryMetric": primary, "secondaryMetrics": result.secondary}
        payload |= {"status": outcome, "durationMs": result.duration_ms} | told
        appended = self._experiments.append_record(session_id, "run", payload)
        record = replace(appended, payload=appended.payload | {"primaryMetric": primary})
        if outcome == "keep":
            return LoggedRun(record, self._keep(session_id, record, result))
        if outcome in _REVERT and baseline_commit and self._git:
            return LoggedRun(record, reverted_to=self._revert(self._git, baseline_commit))
        return LoggedRun(record)

    def _check(self, outcome: str, result: RunResult, baseline_commit: str | None) -> None:
        if outcome not in OUTCOMES:
            raise InvalidRecordError(f"Invalid outcome: {outcome}", path="outcome")
        if outcome == "keep" and not result.primary:
            raise InvalidRecordError("keep outcome requires primary metric", path="metric")
        if outcome in _NEED_BASELINE and not baseline_commit:
            raise InvalidRecordError(
                "baselineCommit is required for discard/checks_failed", path="baseline_commit"
            )
        if outcome == "keep" and self._git is None:
            raise ExperimentGitNotConfiguredError(
                "Git ops not configured", command="commit", stderr=""
            )

    def _keep(self, session_id: str, record: Record, result: RunResult) -> str:
        if self._git is None or result.primary is None:
            raise ValueError(record.id)
        self._git.add(["."])
        name, value = result.primary["name"], result.primary["value"]
        commit = self._git.commit(
            f"experiment({session_id}): keep {record.id} — {name}={_shown(value)}"
        )
        self._experiments.update_record_payload(record.id, {"commit": commit})
        self._experiments.set_best_run(session_id, record.id)
        self._experiments.record_kept(session_id, record.id)
        return commit

    def _revert(self, git: Git, baseline_commit: str) -> str:
        """Reset everything, around a stash of pi's files."""
        preserved: list[str] = fusion_revert(git.status_porcelain(), baseline_commit, None)[
            "preserved"
        ]
        if preserved:
            git.add(preserved)
        stash = git.stash_push() if preserved else None
        git.reset_hard(baseline_commit)
        if stash:
            git.stash_pop(stash)
        return baseline_commit

    def _refuse_beyond_limit(self, session: Session) -> None:
        limit = session.max_iterations
        runs = self._experiments.list_records(
            session.id, type="run", segment=session.current_segment
        )
        if limit is not None and len(runs) >= limit:
            raise ExperimentMaxIterationsError(
                f"Session {session.id} reached max iterations", limit=limit
            )

    def _session(self, session_id: str) -> Session:
        found = self._experiments.get(session_id)
        if found is None:
            raise SessionNotFoundError(f"Experiment session not found: {session_id}")
        return found


def _result(ran: Executed) -> RunResult:
    with open(ran.output, encoding="utf-8", errors="replace") as file:
        reading = parse(file.read(), "fusion")
    rows = [
        _metric(name, value, reading.units.get(name)) for name, value in reading.metrics.items()
    ]
    good = ran.clean and rows
    return RunResult(
        status="pending" if good else "errored",
        exit_code=ran.exit_code,
        output=ran.output,
        duration_ms=round(ran.duration_s * 1000),
        primary=rows[0] if rows else None,
        secondary=rows[1:],
        warnings=list(reading.warnings),
    )


def _metric(name: str, value: float, unit: str | None) -> dict[str, Any]:
    return {"name": name, "value": value} | ({"unit": unit} if unit else {})


def _shown(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
