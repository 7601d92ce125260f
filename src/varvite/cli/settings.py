"""What holds for every verb: which store, which format, how much to say."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from varvite.cli.place import default_store

if TYPE_CHECKING:
    from varvite.store import Store

TEXT_FORMATS = ("table", "json", "ndjson", "csv", "markdown")
BINARY_FORMATS = ("parquet", "arrow")
FORMATS = TEXT_FORMATS + BINARY_FORMATS


@dataclass(slots=True)
class Settings:
    """The common options, given before the verb or after it; the later one wins."""

    store: str | None = None
    format: str | None = None
    quiet: bool = False

    @property
    def shape(self) -> str:
        """The format asked for: a table for a terminal, JSON elsewhere, unless it was named."""
        return self.format or ("table" if sys.stdout.isatty() else "json")

    def open(self) -> "Store":
        from varvite.store import Store

        return Store(self.store or default_store(os.getcwd(), os.environ))

    def note(self, text: str) -> None:
        """Say something that is not the answer."""
        from varvite.cli.plain import plain

        if not self.quiet:
            click.echo(plain(text), err=True)


def settings_of(ctx: click.Context) -> Settings:
    return ctx.find_root().ensure_object(Settings)


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value and param.name:
        setattr(settings_of(ctx), param.name, value)


def _keep_json(ctx: click.Context, _param: click.Parameter, value: Any) -> None:
    if value:
        settings_of(ctx).format = "json"


def common_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--store"],
            type=click.Path(file_okay=False),
            callback=_keep,
            expose_value=False,
            is_eager=True,
            help="The store's directory.  [default: $VARVITE_STORE, else that of the enclosing "
            "Gaia package, else ./.varvite]",
        ),
        click.Option(
            ["--format"],
            type=click.Choice(FORMATS),
            callback=_keep,
            expose_value=False,
            is_eager=True,
            help="table on a terminal, json elsewhere; parquet and arrow of `sql` only.",
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            callback=_keep_json,
            expose_value=False,
            is_eager=True,
            help="Short for --format json.",
        ),
        click.Option(
            ["--quiet", "-q"],
            is_flag=True,
            callback=_keep,
            expose_value=False,
            is_eager=True,
            help="No notes and no progress on stderr.",
        ),
    ]


class Verb(click.Command):
    """A command that takes the common options too. formats: those that its answer can have."""

    def __init__(self, *args: Any, formats: Sequence[str] = TEXT_FORMATS, **options: Any) -> None:
        super().__init__(*args, **options)
        self._formats = formats
        self.params += common_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; a format that it has not is refused before anything is done."""
        shape = settings_of(ctx).shape
        if shape not in self._formats:
            raise click.UsageError(f"{ctx.info_name} has no format {shape}", ctx)
        return super().invoke(ctx)


pass_settings = click.make_pass_decorator(Settings)

wait_option = click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=0,
    metavar="SECONDS",
    help="Wait so long for the session's lock, rather than not at all.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be done, and do nothing."
)
