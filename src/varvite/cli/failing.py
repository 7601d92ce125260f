"""How a command ends when it does not end well: one message, one exit code."""

import os
from typing import Any, NamedTuple

import click

from varvite.cli.plain import plain
from varvite.cli.settings import Settings
from varvite.disk.files import storage_error
from varvite.errors import VarviteError

USAGE = 2
INTERRUPTED = 130
MESSAGE_CHARS_MAX = 300
TRACEBACK = "VARVITE_TRACEBACK"


class EndedError(Exception):
    """An error of a verb whose exit codes are not those of the tree."""

    def __init__(self, error: VarviteError, exit_code: int) -> None:
        super().__init__(str(error))
        self.error, self.exit_code = error, exit_code


class Failure(NamedTuple):
    exit_code: int
    values: dict[str, Any]


def failure(error: BaseException) -> Failure:
    """What is to be said about it. Contents of records are in no message."""
    if isinstance(error, VarviteError):
        return Failure(error.exit_code, error.as_dict())
    if isinstance(error, click.UsageError):
        return Failure(USAGE, _values("usage", error.format_message(), _help(error.ctx)))
    if isinstance(error, click.ClickException):
        return Failure(USAGE, _values("usage", error.format_message(), ""))
    if isinstance(error, click.Abort | KeyboardInterrupt):
        hint = "what was committed stays; the same command again goes on from there"
        return Failure(INTERRUPTED, _values("interrupted", "interrupted", hint, retryable=True))
    if isinstance(error, OSError):
        return failure(storage_error(error, str(error.filename or "the system")))
    message = f"{type(error).__name__}: {error}"[:MESSAGE_CHARS_MAX]
    return Failure(1, _values("internal", message, f"{TRACEBACK}=1 shows where"))


def _values(code: str, message: str, hint: str, *, retryable: bool = False) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": hint, "retryable": retryable}


def _help(ctx: click.Context | None) -> str:
    return f"`{ctx.command_path} --help`" if ctx else ""


def _ended(error: BaseException) -> Failure:
    if isinstance(error, EndedError):
        return failure(error.error)._replace(exit_code=error.exit_code)
    return failure(error)


def report(error: BaseException, settings: Settings) -> int:
    """Say on stderr what happened; return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return USAGE
    code, values = _ended(error)
    if code == 1 and os.environ.get(TRACEBACK):
        raise error
    if settings.shape in {"json", "ndjson"}:
        from varvite.cli.answer import dumps

        click.echo(dumps(values), err=True)
        return code
    click.echo(f"error: {plain(values['message'])}", err=True)
    if values["hint"]:
        click.echo(f"hint: {plain(values['hint'])}", err=True)
    return code
