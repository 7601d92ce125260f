"""`varvite experiment finalize`: kept runs become branches, and the session is done."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.failing import EndedError
from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option
from varvite.errors import (
    FinalizeStateError,
    MalformedInputError,
    SessionNotFoundError,
    VarviteError,
)

if TYPE_CHECKING:
    from varvite.experiment.session import ExperimentSession

EXIT_CODES = {
    "state_error": 2,
    "no_kept_runs": 3,
    "plan_error": 4,
    "merge_base_error": 5,
    "cherry_pick_conflict": 6,
    "branch_exists": 7,
}
"""Fusion's, for scripts that were written for it. Other errors end as everywhere."""


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.option("--dry-run", is_flag=True, help="Show the plan; write nothing.")
@click.option("--cwd", default=".", type=click.Path(file_okay=False), help="In the repository.")
@click.option("--trunk", help="Branches begin where HEAD left this branch.")
@click.option("--baseline", help="Branches begin at this commit.")
@click.option("--plan", "plan_file", type=click.File("rb"), help="JSON: `groups` in place of ours.")
@wait_option
@pass_settings
def finalize(
    settings: Settings, /, *, session_id: str, plan_file: Any, wait_s: float, **options: Any
) -> None:
    """Put kept runs on branches, a group each, and finalize the session.

    Groups are the runs' `asi.group`, else their segments; no two may change one file.
    What fails changes nothing, and ends with Fusion's exit codes: 2 for a session that
    cannot be finalized, 3 without kept runs, 4 for a plan that cannot be, 5 where no
    commit is known to begin at, 6 for a conflict, 7 for a branch that exists.
    """
    groups = _groups(plan_file) if plan_file else None
    with _fusions_exit_codes(), _opened(settings, session_id, wait_s) as session:
        note_recovered(settings, session.recovered)
        done = session.ending().finalize(options.pop("cwd"), groups=groups, **options)
        row = {"session_id": session_id, "status": session.status()}
        show(settings, Answer.one(row | done.plan.as_dict() | {"branches": done.tips}))


@click.command(cls=Verb)
@click.argument("file", metavar="GROUPS", type=click.Path())
@click.option("--cwd", default=".", type=click.Path(file_okay=False), help="In the repository.")
@pass_settings
def split(settings: Settings, /, *, file: str, cwd: str) -> None:
    """Make a branch of one commit of each group of a groups file, as pi-autoresearch does."""
    from varvite.experiment import pi_branches

    tips = pi_branches.split(cwd, pi_branches.read(file))
    show(settings, Answer.one({"branches": tips}))


def _opened(settings: Settings, session_id: str, wait_s: float) -> "ExperimentSession":
    try:
        return settings.open().experiment(session_id, wait_s=wait_s)
    except SessionNotFoundError:
        raise FinalizeStateError(f"Experiment session not found: {session_id}") from None


@contextmanager
def _fusions_exit_codes() -> Iterator[None]:
    try:
        yield
    except VarviteError as error:
        raise EndedError(error, EXIT_CODES.get(error.code, error.exit_code)) from error


def _groups(file: Any) -> list[dict[str, Any]]:
    from varvite.disk import strict_json

    value = strict_json.loads(file.read(), file=file.name)
    groups = value.get("groups") if isinstance(value, dict) else None
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise MalformedInputError(f"{file.name}: no list `groups` of objects", file=file.name)
    return groups
