"""`varvite experiment`: configure, loop, append, exchange, see where it stands."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.lazy import LazyGroup
from varvite.cli.recovery import note_recovered
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option
from varvite.errors import MalformedInputError, SessionExistsError
from varvite.session.identity import check_kind

_HERE = "varvite.cli.experiment"
_DIRECTIONS = ("minimize", "maximize")


@click.group(
    cls=LazyGroup,
    verbs={
        "init": f"{_HERE}:init",
        "run": "varvite.cli.loop:run",
        "log": "varvite.cli.loop:log",
        "brief": "varvite.cli.loop:brief",
        "finalize": "varvite.cli.finalize:finalize",
        "split": "varvite.cli.finalize:split",
        "append": f"{_HERE}:append",
        "import": "varvite.cli.exchange:import_log",
        "export": "varvite.cli.exchange:export",
        "watch": "varvite.cli.watch:watch",
        "status": f"{_HERE}:status",
    },
)
def experiment() -> None:
    """Experiment sessions: the loop, records, import, watch, export, finalize, status."""


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@click.option("--metric", "metric_name", required=True, help="Name of what is optimised.")
@click.option("--unit", default="", help="Unit of the metric.")
@click.option("--direction", type=click.Choice(_DIRECTIONS), default="minimize", show_default=True)
@click.option("--name", help="Name of the first segment.")
@click.option("--title", default="", help="Title of the session.")
@click.option("--command", help="What `run` measures.")
@click.option("--checks", help="What must succeed after a clean run.")
@click.option("--scope", multiple=True, help="File or folder that keeps commit; repeatable.")
@click.option("--max-iterations", type=click.IntRange(min=1), help="Runs in the first segment.")
@click.option("--working-dir", type=click.Path(file_okay=False, exists=True, resolve_path=True))
@wait_option
@pass_settings
def init(
    settings: Settings,
    /,
    *,
    session_id: str,
    metric_name: str,
    unit: str,
    direction: str,
    name: str | None,
    title: str,
    wait_s: float,
    **loop: Any,
) -> None:
    """Make a session, and say what it measures.

    With a scope, `log` commits its files where a run is kept, and takes them back where
    it is not. Without one git is left alone.
    """
    from varvite.experiment.session import Metric

    store = settings.open()
    if store.exists(session_id):
        raise SessionExistsError(f"{session_id} exists", hint="append to it, or choose another id")
    with store.experiment(session_id, create=True, title=title, wait_s=wait_s) as session:
        told = {key: value for key, value in loop.items() if value}
        told |= {"scope": list(loop["scope"])}
        receipt = session.start(Metric(metric_name, unit, direction), name=name, **told)
        show(settings, Answer.one({"session_id": session_id} | asdict(receipt)))


@click.command(cls=Verb)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--session", "session_id", required=True, metavar="SESSION")
@click.option("--key", help="Idempotency key: the same one again adds nothing.")
@wait_option
@pass_settings
def append(
    settings: Settings, *, file: Any, session_id: str, key: str | None, wait_s: float
) -> None:
    """Append records as one batch.

    They are of type config, run, hook or finalize. FILE (or stdin) has one JSON object,
    a list of them, or one a line.
    """
    records = list(_records(file.read(), getattr(file, "name", "stdin")))
    with settings.open().experiment(session_id, wait_s=wait_s) as session:
        note_recovered(settings, session.recovered)
        receipt = session.append_records(records, key=key)
        show(settings, Answer.one({"session_id": session_id} | asdict(receipt)))


def _records(data: bytes, file: str) -> Iterator[dict[str, Any]]:
    """The records in `data`: of one JSON value over any number of lines, or one a line."""
    from varvite.disk import strict_json

    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    whole = data.lstrip()[:1] == b"[" or _opens_only(lines)
    if whole:
        value = strict_json.loads(data.strip(), file=file)
        for record in value if isinstance(value, list) else [value]:
            yield _object(record, file, 1)
        return
    for number, line in lines:
        yield _object(strict_json.loads(line, file=file, line=number), file, number)


def _opens_only(lines: list[tuple[int, bytes]]) -> bool:
    """Whether the first line begins an object that a later one ends."""
    return len(lines) > 1 and not lines[0][1].strip().endswith(b"}")


def _object(value: Any, file: str, line: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise MalformedInputError(f"{file}:{line}: not an object", file=file, line=line)
    return value


@click.command(cls=Verb)
@click.argument("session_id", metavar="SESSION")
@pass_settings
def status(settings: Settings, session_id: str) -> None:
    """Baseline, best and counts; takes no lock."""
    found = settings.open().session(session_id)
    check_kind(session_id, found["kind"], "experiment")
    names = ("session_id", "title", "cursor", "updated", "counts")
    row = {name: found[name] for name in names} | found["summary"]
    show(settings, Answer.one(row | {"counts_at": found["counts_at"]}))
