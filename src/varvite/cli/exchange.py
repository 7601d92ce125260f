"""`varvite experiment export`: a session as other tools read it."""

import sys
from dataclasses import asdict
from typing import Any

import click

from varvite.cli.answer import Answer, show, show_bytes
from varvite.cli.settings import Settings, Verb, pass_settings

FORMS = ("pi", "fusion", "csv", "parquet")


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.option("--as", "form", type=click.Choice(FORMS), required=True, help="For which tool.")
@click.option("--output", type=click.Path(dir_okay=False), help="A file.  [default: stdout]")
@pass_settings
def export(settings: Settings, *, session_id: str, form: Any, output: str | None) -> None:
    """Write a session as pi-autoresearch's log, as Fusion's rows, or its runs as a table.

    Takes no lock. Fusion's rows are JSON lines, or a SQLite file where FILE ends in .db,
    .sqlite or .sqlite3. A file is whole or not there.
    """
    from varvite.exchange import exporting

    store = settings.open()
    if output is not None:
        show(settings, Answer.one(asdict(store.export(session_id, form, output))))
        return
    if form == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet is not for terminals; give --output")
    show_bytes(exporting.chunks(store, session_id, form))
