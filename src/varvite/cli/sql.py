"""`varvite sql`: ask the store, or write its views for a bare DuckDB shell."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from varvite.cli.answer import show_result, show_text
from varvite.cli.settings import FORMATS, Settings, Verb, pass_settings

if TYPE_CHECKING:
    from varvite.query.catalog import AsOf

STDIN = "-"


@click.command(cls=Verb, formats=FORMATS)
@click.argument("query", metavar="QUERY|NAME|-", required=False)
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="For $NAME.")
@click.option(
    "--as-of",
    multiple=True,
    metavar="CURSOR|SESSION=CURSOR|TIME",
    help="As the store was: at a cursor of the one session asked, at SESSION=CURSOR (may be "
    "repeated), or at a UTC time.",
)
@click.option(
    "--session", "sessions", multiple=True, metavar="SESSION", help="Only this; may be repeated."
)
@click.option("--init", is_flag=True, help="Write the views for a bare duckdb, and ask nothing.")
@pass_settings
def sql(
    settings: Settings,
    *,
    query: str | None,
    params: tuple[str, ...],
    as_of: tuple[str, ...],
    sessions: tuple[str, ...],
    init: bool,
) -> None:
    """Ask the store in SQL, fresh to the last commit.

    QUERY is a statement, the name of one that ships with varvite, or - for stdin. A
    live writer is neither waited for nor disturbed.
    """
    store, moment, only = settings.open(), _moment(as_of), list(sessions) or None
    if init:
        _refuse_with_init(query, params)
        show_text(store.script(as_of=moment, sessions=only))
        return
    text = _text(query)
    show_result(settings, store.sql(text, _params(text, params), as_of=moment, sessions=only))


def _refuse_with_init(query: str | None, params: Sequence[str]) -> None:
    if query or params:
        raise click.UsageError("--init asks nothing: leave the query out")


def _text(query: str | None) -> str:
    if query == STDIN:
        return sys.stdin.read()
    if query:
        return query
    from varvite.query.statements import queries

    known = ", ".join(sorted(queries()))
    raise click.UsageError(f"no QUERY; these ship with varvite: {known}")


def _moment(given: Sequence[str]) -> "AsOf":
    """The moment that --as-of names."""
    pairs = [one.rpartition("=") for one in given if "=" in one]
    if pairs and len(pairs) == len(given):
        return {name: _cursor(cursor) for name, _, cursor in pairs}
    if len(given) > 1:
        raise click.UsageError("--as-of takes one cursor or time, or SESSION=CURSOR pairs")
    if not given:
        return None
    return int(given[0]) if given[0].isdecimal() else given[0]


def _cursor(text: str) -> int:
    if not text.isdecimal():
        raise click.UsageError(f"--as-of: {text!r} is no cursor")
    return int(text)


def _params(query: str, given: Iterable[str]) -> dict[str, Any] | None:
    """Values by name: text where the named query says so, else a JSON scalar if it reads as one."""
    texts = _texts(query)
    values = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise click.UsageError(f"-p {one}: NAME=VALUE is expected")
        values[name] = value if name in texts else _scalar(value)
    return values or None


def _texts(query: str) -> set[str]:
    """The params that a named query takes as text."""
    if not query.isidentifier():
        return set()
    from varvite.query.statements import query as named

    return {param.name for param in named(query).params if param.type == "varchar"}


def _scalar(text: str) -> Any:
    import orjson

    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return text if isinstance(value, dict | list) else value
