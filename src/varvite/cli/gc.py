"""`varvite gc`: the bytes that nothing speaks of any more."""

from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.settings import Settings, Verb, dry_run_option, pass_settings

GRACE_HOURS = 24


@click.command(cls=Verb)
@click.option(
    "--grace-hours",
    type=click.FloatRange(min=0),
    default=GRACE_HOURS,
    show_default=True,
    help="Keep what fell out of use less long ago.",
)
@dry_run_option
@pass_settings
def gc(settings: Settings, *, grace_hours: float, dry_run: bool) -> None:
    """Remove what no manifest lists and no reader pins."""
    show(settings, Answer.one(asdict(settings.open().gc(grace_hours=grace_hours, dry_run=dry_run))))
