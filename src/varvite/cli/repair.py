"""`varvite repair`: what is damaged goes to quarantine, what can be made anew is."""

from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.settings import Settings, Verb, dry_run_option, pass_settings
from varvite.errors import DamageError

COLUMNS = ("file", "what", "done", "session", "lost", "mended")


@click.command(cls=Verb)
@dry_run_option
@click.pass_context
@pass_settings
def repair(settings: Settings, ctx: click.Context, *, dry_run: bool) -> None:
    """Quarantine what is damaged, remake what can be.

    Nothing is deleted. Exits with 6 where something stays damaged.
    """
    done = settings.open().repair(dry_run=dry_run)
    show(settings, Answer.many(map(asdict, done), COLUMNS))
    if not all(one.mended for one in done):
        ctx.exit(DamageError.exit_code)
