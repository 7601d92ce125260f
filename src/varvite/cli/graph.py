"""`varvite graph`: search sessions, opened, fed and looked at."""

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.lazy import LazyGroup
from varvite.cli.progress import Bar
from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option
from varvite.errors import InputError, VarviteError
from varvite.session.identity import check_kind

if TYPE_CHECKING:
    from varvite.graph.session import GraphSession, SubmitReceipt

_HERE = "varvite.cli.graph"
COUNTED = ("new", "seen", "failed", "repeated")
STDIN = "-"


@click.group(
    cls=LazyGroup,
    verbs={
        "open": f"{_HERE}:open_session",
        "submit": f"{_HERE}:submit",
        "status": f"{_HERE}:status",
        "brief": "varvite.cli.going_on:brief",
        "packets": "varvite.cli.going_on:packets",
        "assess": "varvite.cli.going_on:assess",
        "drop": "varvite.cli.going_on:drop",
        "buckets": "varvite.cli.buckets:buckets",
        "focus": "varvite.cli.focus:focus",
        "obligations": "varvite.cli.obligations:obligations",
        "frontier": "varvite.cli.frontier:frontier",
        "accept": "varvite.cli.gate:accept",
        "project": "varvite.cli.gate:project",
        "again": "varvite.cli.gate:again",
        "promote": "varvite.cli.gate:promote",
        "demote": "varvite.cli.gate:demote",
        "reject": "varvite.cli.gate:reject",
        "defer": "varvite.cli.gate:defer",
        "import": "varvite.cli.going_on:import_growth",
        "pause": "varvite.cli.going_on:pause",
        "resume": "varvite.cli.going_on:resume",
    },
)
def graph() -> None:
    """Search sessions: submit what a search brings, work on it, let it become stable.

    What a search brings becomes nodes, sightings and edges, once. `brief` says how to go
    on, to whoever knows nothing of the session.
    """


@click.command(name="open", cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.option("--create", is_flag=True, help="Make the session where there is none.")
@click.option("--title", default="", help="Title of a session that is made.")
@click.option(
    "--set",
    "given",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of it; repeatable.",
)
@wait_option
@pass_settings
def open_session(
    settings: Settings,
    *,
    session_id: str,
    create: bool,
    title: str,
    given: tuple[str, ...],
    wait_s: float,
) -> None:
    """Open a session, recovering what a crash left; or make it."""
    store = settings.open()
    options: dict[str, Any] = {"create": create, "title": title, "wait_s": wait_s}
    with store.graph(session_id, parameters=_parameters(given), **options) as session:
        note_recovered(settings, session.recovered)
        show(settings, Answer.one(session.status()))


def _parameters(given: Sequence[str]) -> dict[str, Any]:
    """Names and values; numbers as numbers."""
    found: dict[str, Any] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise InputError(f"--set {one}: expected NAME=VALUE")
        try:
            found[name] = json.loads(value)
        except json.JSONDecodeError:
            found[name] = value
    return found


@click.command(cls=Verb)
@click.argument(
    "files",
    metavar="FILE...|-",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
)
@click.option("--session", "session_id", required=True, metavar="SESSION")
@click.option("--create", is_flag=True, help="Make the session where there is none.")
@click.option("--title", default="", help="Title of a session that is made.")
@click.option("--query", help="For the responses that name none.")
@wait_option
@pass_settings
def submit(
    settings: Settings,
    *,
    files: tuple[str, ...],
    session_id: str,
    create: bool,
    title: str,
    query: str | None,
    wait_s: float,
) -> None:
    """Take search responses as they lie in files.

    A file has one response, or one a line. They are committed a few at a time. Cut
    short, the same command goes on where it stopped: a response that is known adds
    nothing.
    """
    from varvite.session.taking_back import unless_refused

    store = settings.open()
    options: dict[str, Any] = {"create": create, "title": title, "wait_s": wait_s}
    fresh = unless_refused(store, session_id, create=create)
    with fresh, store.graph(session_id, **options) as session, Bar(settings) as bar:
        note_recovered(settings, session.recovered)
        show(settings, Answer.one(_submit_all(session, files, query, bar)))


def _submit_all(
    session: "GraphSession", files: Sequence[str], query: str | None, bar: Bar
) -> dict[str, Any]:
    total = Total()
    try:
        for number, file in enumerate(files):
            bar("submitting", number, len(files))
            with _on_disk(file) as path:
                total.add(session.submit_file(path, query=query))
    except VarviteError as error:
        error.data |= {"submitted": total.row(session)}
        raise
    return total.row(session)


class Total:
    """What many batches came to."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._io: Counter[str] = Counter()
        self._batches = 0

    def add(self, receipts: "Iterable[SubmitReceipt]") -> None:
        for receipt in receipts:
            self._counts.update({name: getattr(receipt, name) for name in COUNTED})
            self._io.update(receipt.io)
            self._batches += bool(receipt.io)

    def row(self, session: "GraphSession") -> dict[str, Any]:
        counts = {name: self._counts[name] for name in COUNTED}
        head = {"session_id": session.id, "cursor": session.cursor, "batches": self._batches}
        return head | counts | {"io": dict(self._io)}


@contextmanager
def _on_disk(file: str) -> Iterator[str]:
    """The file itself, or what comes on stdin put into one: a payload is cut out by its place."""
    if file != STDIN:
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stdin")
        with open(path, "wb") as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
        try:
            yield path
        except VarviteError as error:
            error.message = error.message.replace(path, "stdin")
            error.data |= {"file": "stdin"} if error.data.get("file") == path else {}
            raise


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@pass_settings
def status(settings: Settings, session_id: str) -> None:
    """Cursor, counts and totals; takes no lock."""
    found = settings.open().session(session_id)
    check_kind(session_id, found["kind"], "graph")
    names = ("session_id", "title", "cursor", "updated", "counts", "summary", "counts_at")
    show(settings, Answer.one({name: found[name] for name in names}))
