"""A graph session opened for one command, and JSON that a command takes from a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings
from varvite.errors import MalformedInputError

if TYPE_CHECKING:
    from varvite.graph.port import GaiaPort
    from varvite.graph.session import GraphSession

Command = Callable[..., Any]


@contextmanager
def writing(
    settings: Settings, session_id: str, wait_s: float, *, gaia: "GaiaPort | None" = None
) -> "Iterator[GraphSession]":
    with settings.open().graph(session_id, wait_s=wait_s, gaia=gaia) as session:
        note_recovered(settings, session.recovered)
        yield session


def session_argument(command: Command) -> Command:
    return click.argument("session_id", metavar="SESSION")(command)


def json_in(file: BinaryIO) -> Any:
    """The one JSON value in a file.

    Raises:
        MalformedInputError: .file .line .offset
    """
    from varvite.disk import strict_json

    return strict_json.loads(file.read(), file=getattr(file, "name", "stdin"))


def json_option(option: str, text: str) -> dict[str, Any]:
    """The JSON object that an option has.

    Raises:
        MalformedInputError: .file .line .offset, where the file is the option.
    """
    from varvite.disk import strict_json

    value = strict_json.loads(text.encode(), file=option)
    if not isinstance(value, dict):
        raise MalformedInputError(f"{option}: not an object", file=option)
    return value
