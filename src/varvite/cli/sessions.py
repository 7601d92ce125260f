"""`varvite sessions`: the store at a glance; reads one small file a session."""

from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.settings import Settings, Verb, pass_settings

COLUMNS = ("id", "kind", "title", "cursor", "updated", "status", "counts")


@click.command(cls=Verb)
@pass_settings
def sessions(settings: Settings) -> None:
    """List the sessions, without opening any."""
    rows = [_row(found) for found in settings.open().sessions()]
    columns = (*COLUMNS, "error") if any("error" in row for row in rows) else COLUMNS
    show(settings, Answer.many(rows, columns))


def _row(found: dict[str, Any]) -> dict[str, Any]:
    row = {"id": found["session_id"]} | found
    if "error" not in found:
        row["status"] = found["summary"].get("status", "active")
    return row
