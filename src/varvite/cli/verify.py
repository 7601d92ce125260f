"""`varvite verify`: read everything, and say what is damaged."""

from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.progress import Bar
from varvite.cli.settings import Settings, Verb, pass_settings
from varvite.errors import DamageError

COLUMNS = ("file", "what", "hint")


@click.command(cls=Verb)
@click.argument("session_ids", metavar="[SESSION]...", nargs=-1)
@click.pass_context
@pass_settings
def verify(settings: Settings, ctx: click.Context, *, session_ids: tuple[str, ...]) -> None:
    """Read everything, and list what is damaged.

    Journals, indexes, manifest and segments. Exits with 6 where it finds something.
    """
    with Bar(settings) as bar:
        found = settings.open().verify(list(session_ids) or None, progress=bar)
    show(settings, Answer.many(map(asdict, found), COLUMNS))
    if found:
        ctx.exit(DamageError.exit_code)
