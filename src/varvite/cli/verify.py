"""`varvite verify`: read everything, and say what is damaged."""

from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.progress import Bar
from varvite.cli.settings import Settings, Verb, pass_settings
from varvite.errors import DamageError

COLUMNS = ("file", "what", "code", "hint", "session")
HARMLESS = "orphan"


@click.command(cls=Verb)
@click.argument("session_ids", metavar="[SESSION]...", nargs=-1)
@click.option("--deep", is_flag=True, help="Hold all against what the journals would make.")
@click.pass_context
@pass_settings
def verify(
    settings: Settings, ctx: click.Context, *, session_ids: tuple[str, ...], deep: bool
) -> None:
    """Read everything, and list what is damaged.

    Journals, indexes, manifest and segments. Exits with 6 where it finds
    more than files that nobody lists.
    """
    with Bar(settings) as bar:
        found = settings.open().verify(list(session_ids) or None, deep=deep, progress=bar)
    show(settings, Answer.many(map(asdict, found), COLUMNS))
    if any(one.code != HARMLESS for one in found):
        ctx.exit(DamageError.exit_code)
