"""Which kept runs go on which branch: pure, so that it can be shown before it is done."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from varvite.errors import PlanError
from varvite.experiment.status import Rules

SLUG_CHARS_MAX = 40


class KeptRun(NamedTuple):
    """A run of the ledger. group: its `asi.group`, as it stands."""

    id: str
    seq: int
    segment: int
    status: str
    commit: str | None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that become one branch, in the order in which they are picked."""

    id: str
    title: str
    runs: tuple[str, ...]
    commits: tuple[str, ...]
    branch: str


@dataclass(frozen=True, slots=True)
class Plan:
    """orphaned: kept runs without a commit, which no branch can hold."""

    groups: tuple[Group, ...]
    orphaned: tuple[str, ...]
    baseline_commit: str
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The plan as JSON has it."""
        return {name: _listed(value) for name, value in asdict(self).items()}


class Baseline(NamedTuple):
    """Where branches may begin, the first that is known: as told, the baseline run's, the fork."""

    told: str | None
    run: str | None
    merge_base: str


def slug(title: str) -> str:
    """A title as part of a branch name, at most 40 characters of a-z, 0-9 and -."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:SLUG_CHARS_MAX] or "group"


def plan(session_id: str, kept: Iterable[KeptRun], baseline: Baseline) -> Plan:
    """A branch a group: the runs' own word for it where they have one, else their segment."""
    runs = sorted((run for run in kept if run.status == "keep"), key=lambda run: run.seq)
    orphaned = tuple(run.id for run in runs if not run.commit)
    warnings = [f"run {run} has no commit and is left out" for run in orphaned]
    told = (baseline.told or "").strip() or baseline.run
    if not told:
        warnings.append("no baseline commit is known: branches begin at the merge base")
    groups = _grouped(session_id, [run for run in runs if run.commit])
    return Plan(groups, orphaned, told or baseline.merge_base, tuple(warnings))


def overridden(
    session_id: str, made: Plan, groups: Sequence[Mapping[str, Any]], rules: Rules = "strict"
) -> Plan:
    """The plan with other groups: `runRecordIds`, and `id`, `title`, `suggestedBranchName`.

    Raises:
        PlanError: a run that is not in the plan, no run, a branch twice, and by our
            rules a run in two groups.
    """
    found = tuple(
        _custom(session_id, made, group, number) for number, group in enumerate(groups, 1)
    )
    _refuse_twice("branch", [group.branch for group in found])
    if rules == "strict":
        _refuse_twice("run", [run for group in found for run in group.runs])
    return Plan(found, made.orphaned, made.baseline_commit, made.warnings)


def check_disjoint(groups: Iterable[Group], files: Mapping[str, Iterable[str]]) -> None:
    """Refuse groups that change the same file. files: the paths that each commit changes.

    Raises:
        PlanError: .path
    """
    owner: dict[str, str] = {}
    for group in groups:
        for path in sorted({path for commit in group.commits for path in files[commit]}):
            other = owner.setdefault(path, group.id)
            if other != group.id:
                raise PlanError(
                    f"{path} is changed by {other} and by {group.id}",
                    hint="put their runs into one group",
                    path=path,
                )


def _grouped(session_id: str, runs: Iterable[KeptRun]) -> tuple[Group, ...]:
    parts: dict[tuple[str, str], list[KeptRun]] = {}
    for run in runs:
        name = (run.group or "").strip()
        key = (f"asi:{name}", name) if name else (f"segment:{run.segment}", _segment(run))
        parts.setdefault(key, []).append(run)
    return tuple(
        _group(session_id, key, title, of, number)
        for number, ((key, title), of) in enumerate(parts.items(), 1)
    )


def _segment(run: KeptRun) -> str:
    return f"Segment {run.segment}"


def _group(session_id: str, key: str, title: str, runs: Sequence[KeptRun], number: int) -> Group:
    commits = tuple(run.commit for run in runs if run.commit)
    return Group(
        key, title, tuple(run.id for run in runs), commits, _branch(session_id, title, number)
    )


def _branch(session_id: str, title: str, number: int) -> str:
    return f"experiment/{session_id.lower()}/{slug(title)}-{number}"


def _custom(session_id: str, made: Plan, given: Mapping[str, Any], number: int) -> Group:
    commits = {
        run: commit
        for group in made.groups
        for run, commit in zip(group.runs, group.commits, strict=True)
    }
    runs = given.get("runRecordIds") or []
    unknown = [run for run in runs if run not in commits]
    if unknown or not runs:
        what = f"run {str(unknown[0])[:80]} is not to be finalized" if unknown else "it has no run"
        raise PlanError(f"group {number}: {what}")
    titles = {group.id: group.title for group in made.groups}
    title = given.get("title") or titles.get(given.get("id") or "")
    return Group(
        given.get("id") or f"custom:{number}",
        title or f"Group {number}",
        tuple(runs),
        tuple(commits[run] for run in runs),
        given.get("suggestedBranchName") or _branch(session_id, title or "", number),
    )


def _refuse_twice(what: str, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise PlanError(f"{what} {name} is in two groups")


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(each) for name, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, tuple) else value
