"""`varvite delete`: a session out of every view at once."""

import sys
from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.settings import Settings, Verb, dry_run_option, pass_settings


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.option("--yes", is_flag=True, help="Do not ask; nobody is asked without a terminal.")
@dry_run_option
@pass_settings
def delete(settings: Settings, *, session_id: str, yes: bool, dry_run: bool) -> None:
    """Take a session out of every view.

    Its bytes go at a later `gc`.
    """
    if not (yes or dry_run) and sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"delete {session_id}?", abort=True, err=True)
    show(settings, Answer.one(asdict(settings.open().delete(session_id, dry_run=dry_run))))
