"""`varvite experiment run`, `log` and `brief`: the loop, one step a command."""

from dataclasses import asdict
from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.opened import json_option
from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option

_STATUSES = ("keep", "discard", "crash", "checks_failed", "errored", "pending", "confirm")


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.argument("command", required=False)
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), metavar="SECONDS")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--checks", help="In place of the session's own.")
@click.option("--checks-timeout", "checks_timeout_s", type=float, metavar="SECONDS")
@click.option("--flavour", type=click.Choice(("union", "pi", "fusion")), default="union")
@click.option("--output", type=click.Path(dir_okay=False), help="Where all of the output goes.")
@wait_option
@pass_settings
def run(
    settings: Settings, /, *, session_id: str, command: str | None, wait_s: float, **options: Any
) -> None:
    """Measure: run COMMAND, or the session's, and read its METRIC lines.

    The primary metric is the line that the session's metric names. At the timeout, 600 s
    by default, the command and all that it started are killed.
    """
    given = {key: value for key, value in options.items() if value is not None}
    with settings.open().experiment(session_id, wait_s=wait_s) as session:
        note_recovered(settings, session.recovered)
        show(settings, Answer.one(asdict(session.run(command, **given))))


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.argument("status", type=click.Choice(_STATUSES))
@click.option("--description", "-m", default="", help="What was tried; a commit's subject.")
@click.option("--metric", type=float, help="In place of what was measured.")
@click.option("--asi", metavar="JSON", help="An object: hypothesis, next_action_hint, …")
@wait_option
@pass_settings
def log(
    settings: Settings,
    *,
    session_id: str,
    status: str,
    description: str,
    metric: float | None,
    asi: str | None,
    wait_s: float,
) -> None:
    """Log what was measured: a keep commits the scope's files, the others take them back."""
    told = json_option("--asi", asi) if asi else None
    with settings.open().experiment(session_id, wait_s=wait_s) as session:
        note_recovered(settings, session.recovered)
        done = session.log(status, description=description, metric=metric, asi=told)
        show(settings, Answer.one(asdict(done)))


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@wait_option
@pass_settings
def brief(settings: Settings, *, session_id: str, wait_s: float) -> None:
    """All that goes on depends on, and the last 50 runs; for an agent that lost its context."""
    with settings.open().experiment(session_id, wait_s=wait_s) as session:
        show(settings, Answer.one(session.brief()))
