"""`varvite demo`: a store is grown, paused, killed, resumed, compacted and asked, in a minute."""

import os

import click

from varvite.cli.demo.folder import prepare
from varvite.cli.settings import Settings, Verb, pass_settings

RECORDS = 16_000
RECORDS_MIN = 1_500


@click.command(cls=Verb)
@click.argument("folder", metavar="[DIR]", default="varvite-demo", type=click.Path(file_okay=False))
@click.option("--seed", type=int, default=1, show_default=True, help="Another one, other data.")
@click.option(
    "--records",
    type=click.IntRange(min=RECORDS_MIN),
    default=RECORDS,
    show_default=True,
    help="About how many records the search session gets.",
)
@pass_settings
def demo(settings: Settings, *, folder: str, seed: int, records: int) -> None:
    """Grow, kill, resume, compact and ask sessions in DIR.

    Takes under a minute. A folder that it did not make is left alone.
    """
    from varvite.cli.demo.stage import Stage
    from varvite.cli.demo.story import play
    from varvite.store import Store

    path = os.path.abspath(folder)
    prepare(path)
    play(Stage(settings, path), Store(path), seed, records)
