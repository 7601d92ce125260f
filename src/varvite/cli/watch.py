"""`varvite experiment watch`: follow a live log."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.exchange import described, log_of, log_options
from varvite.cli.progress import Bar
from varvite.cli.settings import Settings, Verb, pass_settings
from varvite.errors import BusyError

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@click.command(cls=Verb, formats=("table", "json", "ndjson"))
@click.argument("file", type=click.Path(dir_okay=False), metavar="LOG")
@click.argument("session_id", metavar="SESSION")
@click.option("--as", "form", type=click.Choice(("pi", "table")), help="[default: as for import]")
@click.option("--create", is_flag=True, help="Make the session where there is none.")
@click.option("--title", default="", help="Title of a session that is made.")
@click.option(
    "--until-idle",
    "until_idle_s",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End when nothing was new for so long.  [default: go on until a signal]",
)
@click.option(
    "--every",
    "every_s",
    type=click.FloatRange(min=0.01),
    default=0.5,
    show_default=True,
    metavar="SECONDS",
    help="How often to look.",
)
@log_options
@pass_settings
def watch(
    settings: Settings,
    /,
    *,
    file: str,
    session_id: str,
    form: str | None,
    create: bool,
    title: str,
    until_idle_s: float | None,
    every_s: float,
    **about: Any,
) -> None:
    """Follow a live log: what is new goes into SESSION as it comes.

    Each import is a line of the answer, as JSON an object a line. SIGTERM and SIGINT end it
    after the batch under way, with exit code 0; the same command again goes on from there. A
    log or a session that cannot be had now is waited for.
    """
    from varvite.exchange import watching
    from varvite.session.taking_back import unless_refused

    table = form == "table" or (form is None and (about["columns"] or file.endswith(".tsv")))
    log, waits = log_of(file, "table" if table else "pi", about), _Waits(settings)
    store = settings.open()
    fresh = unless_refused(store, session_id, create=create)
    with fresh, _stopped_by_signals() as stop, Bar(settings) as progress:
        for report in watching.follow(
            store,
            log,
            session_id,
            stop=stop.event,
            until_idle_s=until_idle_s,
            every_s=every_s,
            progress=progress,
            busy=waits,
            create=create,
            title=title,
        ):
            waits.told = False
            _tell(settings, {"session_id": session_id} | described(report))
    settings.note(f"ended by {stop.name}" if stop.name else f"nothing new for {until_idle_s:g} s")


class _Stop:
    """name: of the signal that came."""

    def __init__(self) -> None:
        self.event, self.name = Event(), ""

    def __call__(self, number: int, _frame: Any) -> None:
        self.name = signal.Signals(number).name
        self.event.set()


@contextmanager
def _stopped_by_signals() -> Iterator[_Stop]:
    stop = _Stop()
    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Waits:
    """Says once that the session is in use, until something was imported again."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self.told = settings, False

    def __call__(self, error: BusyError) -> None:
        if not self.told:
            self._settings.note(f"waiting: {error.message}")
        self.told = True


def _tell(settings: Settings, report: dict[str, Any]) -> None:
    if settings.shape != "table":
        show(settings, Answer.one(report))
        return
    names = ("lines", "imported", "generation", "cursor")
    aside = f", {len(report['quarantined'])} set aside" if report["quarantined"] else ""
    click.echo(", ".join(f"{name} {report[name]}" for name in names) + aside)
