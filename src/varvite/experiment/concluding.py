"""End a session: its kept runs become branches, and it becomes finalized; or nothing happens."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from varvite.errors import PlanError, VarviteError
from varvite.experiment.branching import Branching
from varvite.experiment.finalizing import Baseline, Group, KeptRun, Plan, overridden, plan
from varvite.experiment.ledger import RunEntry


class Session(Protocol):
    """What ending a session needs of it."""

    @property
    def id(self) -> str: ...
    def status(self) -> str: ...
    def kept(self) -> list[RunEntry]: ...
    def pointer(self, name: str) -> str | None: ...
    def get_record(self, record_id: str) -> dict[str, Any]: ...
    def transition(self, to: str) -> Any: ...
    def append_record(self, record: dict[str, Any]) -> Any: ...


@dataclass(frozen=True, slots=True)
class Finalized:
    """tips: each branch's newest commit; empty in a dry run."""

    plan: Plan
    tips: dict[str, str]
    dry_run: bool


def finalize(
    session: Session,
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
        PlanError: nothing to finalize, or groups that cannot be.
        GitError: a conflict, a branch that exists, or branches that do not make the whole.
        SessionStatusError: the session is neither active nor finalizing.
    """
    branching = Branching(cwd)
    made = _planned(session, branching, trunk, baseline, groups)
    if dry_run:
        branching.check(made.groups)
        return Finalized(made, {}, dry_run=True)
    if session.status() != "finalizing":
        session.transition("finalizing")
    with _else_active(session):
        tips = branching.make(made.groups, made.baseline_commit)
        with _else_removed(branching, tips):
            payload = {"plan": made.as_dict(), "branches": tips}
            session.append_record({"type": "finalize", "payload": payload})
            session.transition("finalized")
    return Finalized(made, tips, dry_run=False)


def _planned(
    session: Session,
    branching: Branching,
    trunk: str | None,
    baseline: str | None,
    groups: Sequence[Mapping[str, Any]] | None,
) -> Plan:
    runs = [_kept_run(session.get_record(entry.id)) for entry in session.kept()]
    first = next((run.commit for run in runs if run.commit), None)
    if first is None:
        raise PlanError(f"session {session.id} has no kept run with a commit")
    fork = trunk and not baseline and branching.merge_base(trunk)
    begin = baseline or fork or branching.parent(first)
    made = plan(session.id, runs, Baseline(begin, None, begin))
    if groups is not None:
        made = overridden(session.id, made, groups)
    base = branching.full(made.baseline_commit)
    picked = [_beyond(group, branching, base) for group in made.groups]
    found = tuple(group for group in picked if group.commits)
    if not found:
        raise PlanError(f"session {session.id} kept nothing beyond {base[:7]}")
    return replace(made, groups=found, baseline_commit=base)


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


@contextmanager
def _else_active(session: Session) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(VarviteError):  # what failed first is what is told
            session.transition("active")
        raise


@contextmanager
def _else_removed(branching: Branching, tips: dict[str, str]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(VarviteError):
            branching.remove(tips)
        raise
