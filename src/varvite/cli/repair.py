"""`varvite repair`: what is damaged goes to quarantine, what can be made anew is."""

from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.settings import Settings, Verb, dry_run_option, pass_settings

COLUMNS = ("file", "what", "done", "session", "lost")


@click.command(cls=Verb)
@dry_run_option
@pass_settings
def repair(settings: Settings, *, dry_run: bool) -> None:
    """Quarantine what is damaged, remake what can be.

    Nothing is deleted.
    """
    done = settings.open().repair(dry_run=dry_run)
    show(settings, Answer.many(map(asdict, done), COLUMNS))
