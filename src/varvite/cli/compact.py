"""`varvite compact`: journals into Parquet segments."""

from dataclasses import asdict

import click

from varvite.cli.answer import Answer, show
from varvite.cli.progress import Bar
from varvite.cli.settings import Settings, Verb, dry_run_option, pass_settings


@click.command(cls=Verb)
@click.option(
    "--max-seconds", type=click.FloatRange(min=0), help="Begin no further step after so long."
)
@dry_run_option
@pass_settings
def compact(settings: Settings, *, max_seconds: float | None, dry_run: bool) -> None:
    """Bring journals into Parquet, beside live writers."""
    with Bar(settings) as bar:
        done = settings.open().compact(dry_run=dry_run, max_seconds=max_seconds, progress=bar)
    show(settings, Answer.one(asdict(done)))
