"""`varvite rebuild`: everything but the journal, made anew from it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from varvite.cli.answer import Answer, show
from varvite.cli.progress import Bar
from varvite.cli.settings import Settings, Verb, pass_settings

if TYPE_CHECKING:
    from varvite.store import Store

COLUMNS = ("session", "cursor", "records", "bytes_read", "seconds")


@click.command(cls=Verb)
@click.argument("session_ids", metavar="SESSION...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All sessions of the store.")
@pass_settings
def rebuild(settings: Settings, *, session_ids: tuple[str, ...], every: bool) -> None:
    """Make index, streams and state anew from the journal."""
    store = settings.open()
    rows = []
    with Bar(settings) as bar:
        for name in _names(store, session_ids, every=every):
            done = store.rebuild(
                name, progress=lambda seq, last, name=name: bar(f"rebuilding {name}", seq, last)
            )
            rows.append(asdict(done))
    show(settings, Answer.many(rows, COLUMNS))


def _names(store: "Store", given: Sequence[str], *, every: bool) -> Sequence[str]:
    if bool(given) == every:
        raise click.UsageError("name sessions, or say --all")
    return [row["session_id"] for row in store.sessions()] if every else given
