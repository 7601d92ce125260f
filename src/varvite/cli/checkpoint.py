"""`varvite checkpoint`: the named jobs that may read history."""

from typing import TYPE_CHECKING

import click

from varvite.cli.answer import Answer, show, show_result, show_text
from varvite.cli.gate import gaia_options, gaia_port
from varvite.cli.progress import Bar
from varvite.cli.settings import FORMATS, Settings, Verb, dry_run_option, pass_settings

if TYPE_CHECKING:
    from varvite.checkpoints.running import Ran

_LISTED = ("name", "reads", "summary", "parameters")
_SHOWN = (
    "state",
    "name",
    "session_id",
    "cursors",
    "results",
    "tables",
    "proposes",
    "applied",
    "rows_read",
    "bytes_read",
    "rows_written",
    "seconds",
    "stages",
    "peak_memory_bytes",
    "path",
)


@click.command(cls=Verb, formats=FORMATS)
@click.argument("name", required=False)
@click.option("--session", "session_id", help="Of this session alone.  [default: each of its kind]")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the job.")
@click.option("--as-of", type=click.IntRange(min=0), help="Read the session at this cursor.")
@click.option("--engine", default="duckdb", show_default=True)
@click.option("--memory-mb", type=click.IntRange(min=64), help="What the engine may hold.")
@click.option(
    "--max-seconds", type=click.FloatRange(min=0), help="Stop after so long, to be gone on with."
)
@click.option("--apply", is_flag=True, help="Hand in what the job proposes.")
@click.option("--show", "table", metavar="TABLE", help="Answer with this table or text.")
@gaia_options
@dry_run_option
@pass_settings
def checkpoint(
    settings: Settings,
    *,
    name: str | None,
    session_id: str | None,
    given: tuple[str, ...],
    as_of: int | None,
    engine: str,
    memory_mb: int | None,
    max_seconds: float | None,
    apply: bool,
    table: str | None,
    package: str | None,
    gaia_python: str | None,
    dry_run: bool,
) -> None:
    """Run a job that may read history; without NAME, list the jobs.

    It takes no writer lock. Cut short, it goes on when it is run again; done, it is not done
    again for the same cursor and parameters.
    """
    if name is None:
        show(settings, _jobs())
        return
    with Bar(settings) as bar, gaia_port(session_id or "", package, gaia_python) as gaia:
        ran = settings.open().checkpoint(
            name,
            session_id,
            parameters=dict(_pair(one) for one in given),
            as_of=as_of,
            engine=engine,
            memory_mb=memory_mb,
            dry_run=dry_run,
            apply=apply,
            max_seconds=max_seconds,
            progress=bar,
            gaia=gaia,
        )
    if table and any(table in one.receipt.texts for one in ran):
        _show_text(settings, ran, table)
    elif table:
        _show_table(settings, ran, table)
    elif len(ran) == 1:
        show(settings, Answer.one({key: ran[0].as_dict()[key] for key in _SHOWN}))
    else:
        show(settings, Answer.many([one.as_dict() for one in ran], _SHOWN))


def _jobs() -> Answer:
    from varvite.checkpoints import jobs

    rows = [
        {
            "name": job.name,
            "reads": f"{'all' if job.wide else 'one'} {job.kind or 'session'}",
            "summary": job.summary,
            "parameters": {name: one.default for name, one in job.parameters.items()},
        }
        for job in jobs().values()
    ]
    return Answer.many(rows, _LISTED)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--set")
    return name, value


def _show_text(settings: Settings, ran: "list[Ran]", name: str) -> None:
    """The text as it is; in a format that was asked for by name, a row a run."""
    texts = [{"session_id": one.receipt.session_id, name: one.answers.text(name)} for one in ran]
    if settings.format in {None, "table"}:
        show_text("\n".join(one[name] or "" for one in texts))
    else:
        show(settings, Answer.many(texts, ["session_id", name]))


def _show_table(settings: Settings, ran: "list[Ran]", table: str) -> None:
    import pyarrow as pa

    from varvite.query.result import Result

    found = [one.answers.table(table) for one in ran]
    show_result(settings, Result(pa.concat_tables(found)) if found else Result(pa.table({})))
