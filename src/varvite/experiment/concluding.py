"""End a session: its kept runs become branches, and it becomes finalized; or nothing happens.

What is set out is recorded first, so that whatever stops it in between, the next open
brings it to an end: branches that are all there are finalized, others are taken back.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from varvite.errors import (
    FinalizeStateError,
    GitError,
    MergeBaseError,
    NoKeptRunsError,
    VarviteError,
)
from varvite.experiment import ending
from varvite.experiment.branching import Branching
from varvite.experiment.finalizing import Baseline, Group, KeptRun, Plan, overridden, plan
from varvite.experiment.ledger import RunEntry
from varvite.session.writer import Writer


class Session(Protocol):
    """What ending a session needs of it."""

    @property
    def id(self) -> str: ...
    def status(self) -> str: ...
    def kept(self) -> list[RunEntry]: ...
    def get_record(self, record_id: str) -> dict[str, Any]: ...
    def transition(self, to: str, *, record: dict[str, Any] | None = None) -> Any: ...


@dataclass(frozen=True, slots=True)
class Finalized:
    """tips: each branch's newest commit; empty in a dry run."""

    plan: Plan
    tips: dict[str, str]
    dry_run: bool


class Ending:
    """One session's end."""

    def __init__(self, session: Session, writer: Writer) -> None:
        self._session, self._writer = session, writer

    def finalize(
        self,
        cwd: str,
        *,
        trunk: str | None = None,
        baseline: str | None = None,
        groups: Sequence[Mapping[str, Any]] | None = None,
        dry_run: bool = False,
    ) -> Finalized:
        """Make a branch a group of kept runs, record it, and finalize the session.

        Branches begin at `baseline`, else at the fork from `trunk`, else before the first
        kept commit. Reads one part of the journal a kept run. What fails leaves the
        repository as it was, and the session active.

        Raises:
            FinalizeStateError: the session is neither active nor finalizing.
            NoKeptRunsError, PlanError: nothing to finalize, or groups that cannot be.
            MergeBaseError, PickConflictError, BranchExistsError
            GitError: a commit is missing, or the branches are not the whole.
        """
        self.reconcile()
        self._check_state()
        branching = Branching(cwd)
        made = self._planned(branching, trunk, baseline, groups)
        branching.check(made.groups)
        if dry_run:
            return Finalized(made, {}, dry_run=True)
        with self._else_active():
            self._begin(branching.top)
            tips = branching.make(made.groups, made.baseline_commit)
            self._writer.append([ending.intended(made.as_dict(), tips)])
            branching.name(tips)
            self._conclude(made.as_dict(), tips)
        return Finalized(made, tips, dry_run=False)

    def reconcile(self) -> str | None:
        """Bring an interrupted finalize to its end; the status that comes of it, if any does.

        Costs one lookup where there is nothing to do.

        Raises:
            GitError: the repository is not there. Nothing is changed.
        """
        began = ending.opened(self._writer.read)
        if began is None or self._session.status() != "finalizing":
            return None
        tips = began.get("branches") or {}
        branching = Branching(began["cwd"])
        if tips and branching.all_there(tips):
            self._conclude(began["plan"], tips)
        else:
            branching.remove(tips)
            self._session.transition("active")
        return self._session.status()

    def _check_state(self) -> None:
        status = self._session.status()
        if status not in ("active", "finalizing"):
            raise FinalizeStateError(
                f"Session {self._session.id} is not active (status: {status})", status=status
            )

    def _begin(self, cwd: str) -> None:
        if self._session.status() != "finalizing":
            self._session.transition("finalizing")
        self._writer.append([ending.began(cwd)])

    def _conclude(self, made: dict[str, Any], tips: dict[str, str]) -> None:
        record = {"type": "finalize", "payload": {"plan": made, "branches": tips}}
        self._session.transition("finalized", record=record)

    @contextmanager
    def _else_active(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            with suppress(VarviteError):  # what failed first is what is told
                self._take_back()
            raise

    def _take_back(self) -> None:
        """Remove what branches there are, and be active again."""
        if self._session.status() == "finalizing":
            began = ending.opened(self._writer.read) or {}
            if began.get("branches"):
                Branching(began["cwd"]).remove(began["branches"])
            self._session.transition("active")

    def _planned(
        self,
        branching: Branching,
        trunk: str | None,
        baseline: str | None,
        groups: Sequence[Mapping[str, Any]] | None,
    ) -> Plan:
        session = self._session
        runs = [_kept_run(session.get_record(entry.id)) for entry in session.kept()]
        first = next((run.commit for run in runs if run.commit), None)
        if first is None:
            raise NoKeptRunsError(f"Session {session.id} has no kept runs with a commit")
        begin = _begin(branching, trunk, baseline, first)
        made = plan(session.id, runs, Baseline(begin, None, begin))
        if groups is not None:
            made = overridden(session.id, made, groups)
        picked = [_beyond(group, branching, begin) for group in made.groups]
        found = tuple(group for group in picked if group.commits)
        if not found:
            raise NoKeptRunsError(f"Session {session.id} kept nothing beyond {begin[:7]}")
        return replace(made, groups=found, baseline_commit=begin)


def _begin(branching: Branching, trunk: str | None, baseline: str | None, first: str) -> str:
    """The commit at which branches begin.

    Raises:
        MergeBaseError
    """
    try:
        if baseline:
            return branching.full(baseline)
        return branching.merge_base(trunk) if trunk else _before(branching, first)
    except GitError as error:
        raise MergeBaseError(
            f"no commit to begin at: {error.message}",
            hint=error.hint or "give a --baseline, or a --trunk that shares history with HEAD",
            **error.data,
        ) from error


def _before(branching: Branching, first: str) -> str:
    """The commit before the first one that was kept."""
    first = branching.full(first)
    try:
        return branching.parent(first)
    except GitError as error:
        raise GitError(
            f"the first kept commit, {first[:7]}, has none before it",
            hint=f"--baseline {first[:7]} begins at that commit itself",
            **error.data,
        ) from error


def _beyond(group: Group, branching: Branching, base: str) -> Group:
    """The group with its whole commit names, without those that the base holds."""
    return replace(group, commits=tuple(branching.beyond(group.commits, base)))


def _kept_run(record: dict[str, Any]) -> KeptRun:
    payload = record.get("payload")
    asi = payload.get("asi") if isinstance(payload, dict) else None
    group = asi.get("group") if isinstance(asi, dict) else None
    return KeptRun(
        record["id"],
        record["seq"],
        record["segment"],
        record["status"],
        record.get("commit"),
        group if isinstance(group, str) else None,
    )
