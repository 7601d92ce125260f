"""`varvite experiment finalize`: kept runs become branches, and the session is done."""

from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option
from varvite.errors import MalformedInputError


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
    What fails changes nothing.
    """
    from varvite.experiment.concluding import finalize as conclude

    groups = _groups(plan_file) if plan_file else None
    with settings.open().experiment(session_id, wait_s=wait_s) as session:
        note_recovered(settings, session.recovered)
        done = conclude(session, options.pop("cwd"), groups=groups, **options)
        row = {"session_id": session_id, "status": session.status()}
        show(settings, Answer.one(row | done.plan.as_dict() | {"branches": done.tips}))


def _groups(file: Any) -> list[dict[str, Any]]:
    from varvite.disk import strict_json

    value = strict_json.loads(file.read(), file=file.name)
    groups = value.get("groups") if isinstance(value, dict) else None
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise MalformedInputError(f"{file.name}: no list `groups` of objects", file=file.name)
    return groups
