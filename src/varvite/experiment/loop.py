"""The loop's executor: run a benchmark, then log what came of it, in git and in the session.

A log call records its intent, acts in git, and records the outcome. Whatever stops it
in between, `reconcile` brings to an end: a commit carries the run's id, an outcome is
appended under the intent's key, and taking back is done again where it was not done.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from varvite import ids
from varvite.errors import GitError, InvalidRecordError, IterationLimitError, SessionStatusError
from varvite.experiment import briefing, hooks, loop_state, running, trend
from varvite.experiment.git import RUN_TRAILER, SESSION_TRAILER, Changed, Repository, message
from varvite.experiment.hook_words import pi_run, pi_session
from varvite.experiment.ledger import SegmentState, SessionState
from varvite.experiment.measured_files import digest
from varvite.experiment.running import Measured
from varvite.session.writer import Receipt, Writer

ACTIONS = {"keep": "commit", "confirm": "none", "pending": "none"}
"""What a status does to the files; the others take them back."""


class Session(Protocol):
    """What the loop needs of the session."""

    def state(self) -> SessionState: ...
    def segment(self, number: int | None = None) -> SegmentState | None: ...
    def append_record(self, record: dict[str, Any], *, key: str | None = None) -> Receipt: ...


@dataclass(frozen=True, slots=True)
class Logged:
    """A run in the session. commit: of a keep. saved: the commit that holds what was taken back.

    kept_back: paths that were not taken back, since they changed meanwhile.
    steer: what hooks say to the agent. left: runs until the segment's limit.
    """

    run_id: str
    status: str
    metric: float | None
    commit: str | None
    saved: str | None
    taken_back: list[str] = field(default_factory=list)
    kept_back: list[str] = field(default_factory=list)
    steer: list[str] = field(default_factory=list)
    left: int | None = None
    cursor: int = 0


class Loop:
    """One session's loop in one working folder."""

    def __init__(self, session: Session, writer: Writer, cwd: str | None = None) -> None:
        self._session, self._writer = session, writer
        self._given_cwd = cwd

    @property
    def settings(self) -> dict[str, Any]:
        return loop_state.settings(self._writer.read)

    @property
    def cwd(self) -> str:
        return os.path.abspath(self._given_cwd or self.settings.get("working_dir") or os.getcwd())

    def left(self) -> int | None:
        """Runs until the segment's limit; None without one."""
        limit, segment = self.settings.get("max_iterations"), self._session.segment()
        if not isinstance(limit, int) or limit <= 0:
            return None
        return max(0, limit - (segment.runs if segment else 0))

    def run(
        self, command: str | None = None, *, checks: str | None = None, **options: Any
    ) -> Measured:
        """Measure, and remember it for `log`. Options are those of `running.measure`.

        command, checks: those of the settings where they are not given.

        Raises:
            SessionStatusError: the session is not active.
            IterationLimitError: .limit runs were logged in this segment.
            GitError: the scope has changes of before the first run.
            InvalidRecordError: there is no command.
        """
        self._refuse()
        self.reconcile()
        given = self.settings
        command = command or given.get("command")
        if not command:
            raise InvalidRecordError("no command", hint="give one, or set it", path="command")
        before = self._before()
        measured = running.measure(
            command,
            cwd=self.cwd,
            metric_name=self._session.state().definition.metric_name,
            checks=checks or given.get("checks"),
            **options,
        )
        files = self._files()
        measured = self._warned(measured, before["change"], moved=files != before["files"])
        told = before | {"files": files, "cwd": self.cwd}
        self._event(loop_state.MEASURED, asdict(measured) | told)
        return measured

    def log(
        self,
        status: str,
        *,
        description: str = "",
        metric: float | None = None,
        asi: dict[str, Any] | None = None,
    ) -> Logged:
        """Make what was measured a run of the session, and commit or take back its files.

        metric: in place of the measured one. A keep commits the scope's files, a
        discard or failure takes them back after saving them; without a scope git is
        left alone.

        Raises:
            InvalidRecordError: a keep without a metric, or whose checks failed.
            GitError: nothing was logged; of a keep also where its files are not those
                that were there when the run ended.
            SessionStatusError
        """
        self._refuse(limit=False)
        self.reconcile()
        measured = loop_state.measured(self._writer.read) or {}
        record = _record(status, description, metric, asi, measured)
        _check_keep(record, measured)
        repository = self._repository(measured.get("cwd"))
        if repository is None:
            intent = self._intent(record, "none", None, [])
            self._intend(intent)
            return self._with_hooks(self._conclude(intent, {}), record)
        with repository.locked():
            intent = self._planned(repository, record, measured)
            self._intend(intent)
            done = self._conclude(intent, self._act(repository, intent))
        return self._with_hooks(done, record)

    def reconcile(self) -> Logged | None:
        """Bring an interrupted `log` to its end; None where there is nothing to do.

        Costs one lookup then. A commit that carries the run's id becomes its outcome; a
        commit that was not made is abandoned, its files left as they are.

        Raises:
            GitError
        """
        intent = loop_state.intent(self._writer.read)
        if intent is None:
            return None
        repository = self._repository(intent["cwd"]) if intent["head"] else None
        if repository is None:
            return self._conclude(intent, {})
        with repository.locked():
            return self._resume(repository, intent)

    def brief(self) -> dict[str, Any]:
        """What an agent must know after a context reset; reads the index alone, 50 runs at most."""
        return briefing.brief(self._writer.read, self.left())

    def fire(self, stage: hooks.Stage, payload: dict[str, Any]) -> str | None:
        """Fire a hook, record it where there was a config, and return what it tells the agent."""
        fired = hooks.fire(self.cwd, stage, payload)
        if fired.fired and self.settings.get("configured"):
            self._session.append_record({"type": "hook", "payload": fired.entry(stage)})
        return fired.steer(stage)

    def _refuse(self, *, limit: bool = True) -> None:
        status = self._session.state().status
        if status != "active":
            raise SessionStatusError("Session not active", status=status)
        if limit and self.left() == 0:
            most = self.settings["max_iterations"]
            raise IterationLimitError(
                f"{most} runs were logged in this segment",
                hint="start another segment, or finalize",
                limit=most,
            )

    def _repository(self, cwd: str | None = None) -> Repository | None:
        """The repository of the scope; None where the settings name no scope."""
        scope = self.settings.get("scope")
        if not scope:
            return None
        store = os.path.dirname(self._writer.folder.path)
        return Repository(cwd or self.cwd, scope, exclude=[store])

    def _before(self) -> dict[str, Any]:
        """The commit that is measured, and what is changed beyond it."""
        repository = self._repository()
        if repository is None:
            return {"head": None, "change": None, "files": None}
        fresh = not (self._session.state().runs or loop_state.measured(self._writer.read))
        changed = repository.changed()
        if fresh and changed:
            paths = ", ".join(one.path for one in changed[:5])
            raise GitError(
                f"the scope has changes of before the first run: {paths}",
                hint="commit them, or name another scope",
                command="status",
                stderr="",
            )
        files = digest(repository.top, changed)
        return {"head": repository.head(), "change": repository.change(changed), "files": files}

    def _files(self) -> str | None:
        """The digest of what the scope changes now; None without a scope."""
        repository = self._repository()
        return digest(repository.top, repository.changed()) if repository else None

    def _warned(self, measured: Measured, change: str | None, *, moved: bool) -> Measured:
        """Say so where an earlier run changed the same, and where files changed meanwhile."""
        told, found = [], trend.changed_before(self._writer.read, change)
        if found is not None:
            told.append(f"run {found['ordinal']} changed the same: {found['status']}")
        if moved:
            told.append("files of the scope changed while it ran")
        return replace(measured, warnings=[*measured.warnings, *told]) if told else measured

    def _planned(
        self, repository: Repository, record: dict[str, Any], measured: dict[str, Any]
    ) -> dict[str, Any]:
        head, changed = repository.head(), repository.changed()
        if measured.get("head") not in (None, head):
            raise GitError(
                "HEAD is not what was measured",
                hint="run again",
                command="rev-parse",
                stderr=f"{measured['head']} was, {head} is",
            )
        if record["status"] == "keep":
            _check_files(digest(repository.top, changed), measured.get("files"))
        action = ACTIONS.get(record["status"], "revert") if changed else "none"
        intent = self._intent(record, action, head, changed)
        intent["change"] = repository.change(changed)
        if action == "revert":
            ref = f"refs/varvite/{self._writer.identity.uid}/{intent['run_id']}"
            intent["saved"] = repository.save(changed, ref, self._message(intent))
        return intent

    def _intent(
        self, record: dict[str, Any], action: str, head: str | None, changed: Sequence[Changed]
    ) -> dict[str, Any]:
        key, uid = f"log-{ids.uid()}", self._writer.identity.uid
        return {
            "key": key,
            "run_id": ids.derived("run", uid, key, "0"),
            "record": record,
            "action": action,
            "head": head,
            "changed": [[one.path, one.code] for one in changed],
            "saved": None,
            "change": None,
            "cwd": self.cwd,
        }

    def _intend(self, intent: dict[str, Any]) -> None:
        self._event(loop_state.INTENDED, intent)

    def _act(self, repository: Repository, intent: dict[str, Any]) -> dict[str, Any]:
        """Do in git what the intent says; an intent whose commit failed is abandoned."""
        paths = [path for path, _ in intent["changed"]]
        if intent["action"] == "revert":
            repository.take_back(paths, intent["saved"])
            left = {one.path for one in repository.changed()}
            return {"taken_back": [path for path in paths if path not in left]}
        if intent["action"] == "none":
            return {}
        changed = [Changed(path, code) for path, code in intent["changed"]]
        try:
            return {"commit": repository.commit(changed, self._message(intent))}
        except GitError as error:
            self._abandon(intent, str(error))
            raise

    def _resume(self, repository: Repository, intent: dict[str, Any]) -> Logged | None:
        if intent["action"] != "commit":
            return self._conclude(intent, self._act(repository, intent))
        commit = repository.find(intent["run_id"], intent["head"])
        if commit:
            return self._conclude(intent, {"commit": commit})
        self._abandon(intent, "interrupted before its commit")
        return None

    def _abandon(self, intent: dict[str, Any], reason: str) -> None:
        told = {"run_id": intent["run_id"], "reason": reason[:1000]}
        self._event(loop_state.ABANDONED, told)

    def _conclude(self, intent: dict[str, Any], done: dict[str, Any]) -> Logged:
        """Append the outcome, once: the intent's key is the batch's."""
        record, taken = intent["record"], done.get("taken_back", [])
        commit = done.get("commit") or (intent["head"] if record["status"] == "keep" else None)
        paths = [path for path, _ in intent["changed"]] if intent["action"] == "revert" else []
        kept_back = [path for path in paths if path not in set(taken)]
        extra = {"saved": intent["saved"], "head": intent["head"], "kept_back": kept_back}
        extra |= {"change": intent.get("change"), "code": _code(intent, commit)}
        outcome = record | {"commit": commit, "payload": record["payload"] | extra}
        receipt = self._session.append_record(outcome, key=intent["key"])
        return Logged(
            run_id=intent["run_id"],
            status=record["status"],
            metric=record["metric"],
            commit=commit,
            saved=intent["saved"],
            taken_back=taken,
            kept_back=kept_back,
            left=self.left(),
            cursor=receipt.cursor,
        )

    def _message(self, intent: dict[str, Any]) -> str:
        record, name = intent["record"], self._session.state().definition.metric_name
        result = {"status": record["status"], name: record["metric"]} | record["metrics"]
        trailers = {SESSION_TRAILER: self._writer.identity.uid, RUN_TRAILER: intent["run_id"]}
        return message(record["description"], result, trailers)

    def _event(self, kind: str, payload: dict[str, Any]) -> None:
        self._writer.append([{"stream": "events", "type": kind, "payload": payload}])

    def _with_hooks(self, done: Logged, record: dict[str, Any]) -> Logged:
        """Fire the hook after this run, and the one before the next unless there is none."""
        state, segment = self._session.state(), self._session.segment()
        run = pi_run(state, done.commit, record)
        about = {"session": pi_session(state, segment)}
        steer = [self.fire("after", {"run_entry": run} | about)]
        if done.left != 0:
            steer.append(self.fire("before", {"next_run": state.runs + 1, "last_run": run} | about))
        told = [text for text in steer if text]
        return Logged(**asdict(done) | {"steer": told, "cursor": self._writer.cursor})


def _record(
    status: str,
    description: str,
    metric: float | None,
    asi: dict[str, Any] | None,
    measured: dict[str, Any],
) -> dict[str, Any]:
    names = ("command", "exit_code", "timed_out", "duration_s", "replicates", "checks", "warnings")
    payload = {name: measured[name] for name in names if measured.get(name) not in (None, [])}
    return {
        "type": "run",
        "status": status,
        "metric": measured.get("metric") if metric is None else metric,
        "metrics": measured.get("metrics") or {},
        "description": description,
        "payload": payload | ({"asi": asi} if asi else {}),
    }


def _code(intent: dict[str, Any], commit: str | None) -> str | None:
    """A name of the code that was measured: the same name, the same files."""
    head: str | None = intent["head"]
    change = intent.get("change")
    if head is None or change is None:
        return head
    return commit if intent["action"] == "commit" else f"{head}+{change}"


def _check_keep(record: dict[str, Any], measured: dict[str, Any]) -> None:
    if record["status"] != "keep":
        return
    if measured.get("status") == "checks_failed":
        raise InvalidRecordError(
            "keep: the checks failed", hint="log it as checks_failed", path="status"
        )
    if record["metric"] is None and measured:
        raise InvalidRecordError(
            f"keep: the last run crashed: {_crash(measured)}",
            hint="log it as crash or discard, or mend it and run again",
            path="status",
        )
    if record["metric"] is None:
        raise InvalidRecordError(
            "keep outcome requires primary metric", hint="run the benchmark first", path="metric"
        )


def _crash(measured: dict[str, Any]) -> str:
    if measured.get("timed_out"):
        return "it was cut off at its timeout"
    if measured.get("exit_code") == 0:
        return "it gave no METRIC line of the session's metric"
    return f"exit code {measured.get('exit_code')}"


def _check_files(found: str, measured: str | None) -> None:
    """Refuse to commit what was not measured.

    Raises:
        GitError
    """
    if measured is not None and found != measured:
        raise GitError(
            "the scope's files are not those that were measured",
            hint="run again, or log it as something else",
            command="status",
            stderr="",
        )
