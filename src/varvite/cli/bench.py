"""`varvite bench`: does cost stay flat as history grows?"""

import os
from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.progress import Bar
from varvite.cli.settings import Settings, Verb, pass_settings

FOLDER = "varvite-bench"
DEFAULT_SIZES = "1e4,1e5,1e6"
RECORDS_MIN, RECORDS_MAX = 1_000, 100_000_000
OPERATIONS = ("open", "submit", "resume", "list", "poll", "brief")
GROWS = 1
"""The exit code where a continuation's cost grew with the history."""


class Sizes(click.ParamType[tuple[int, ...]]):
    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Numbers of records, `1e4,100000`, each once, the smallest first."""
        try:
            found = sorted({int(float(one)) for one in str(value).split(",")})
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no list of numbers such as {DEFAULT_SIZES}", param, ctx)
        if found[0] < RECORDS_MIN or found[-1] > RECORDS_MAX:
            self.fail(f"sizes lie within {RECORDS_MIN} and {RECORDS_MAX} records", param, ctx)
        return tuple(found)


@click.command(cls=Verb)
@click.option(
    "--sizes",
    type=Sizes(),
    default=DEFAULT_SIZES,
    show_default=True,
    help="Records of each history.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False),
    default=FOLDER,
    show_default=True,
    help="Where results, the page of plots, and meanwhile the histories lie.",
)
@click.option(
    "--compare",
    type=click.Path(exists=True, dir_okay=False),
    metavar="OLD.json",
    help="Show how many times an earlier run's costs these are.",
)
@click.option(
    "--only",
    type=click.Choice(OPERATIONS),
    multiple=True,
    help="One of the continuation's operations, and nothing else; may be given again.",
)
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=11,
    show_default=True,
    help="Calls that a median is of.",
)
@click.option("--keep", is_flag=True, help="Keep the histories for the next run.")
@click.pass_context
@pass_settings
def bench(
    settings: Settings,
    ctx: click.Context,
    *,
    sizes: tuple[int, ...],
    output: str,
    compare: str | None,
    only: tuple[str, ...],
    rounds: int,
    keep: bool,
) -> None:
    """Measure whether cost stays flat as history grows.

    Needs no store. Exits with 1 where a continuation's bytes read, files opened or
    keys looked up grow with the history; times never decide.
    """
    from varvite.bench import page, results
    from varvite.bench.running import Plan, run

    old = results.read(compare) if compare else None
    with Bar(settings) as bar:
        plan = Plan(os.path.abspath(output), sizes, rounds, keep=keep, only=only)
        measured = run(plan, progress=bar)
    written = results.write(measured, output)
    page.write(measured, output)
    if len(sizes) == 1:
        settings.note("one history alone says nothing about growth; name two --sizes")
    for name, reason in measured.left_out.items():
        settings.note(f"{name} is left out: {reason}")
    settings.note(f"results in {written}, plots beside them")
    show(settings, Answer.many(results.rows(measured, old), results.columns(measured, old)))
    ctx.exit(0 if measured.flat else GROWS)
