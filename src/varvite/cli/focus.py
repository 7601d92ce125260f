"""`varvite graph focus`: the questions that are worked on."""

from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.lazy import LazyGroup
from varvite.cli.opened import session_argument, writing
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option

_HERE = "varvite.cli.focus"
_STATUSES = ("candidate", "accepted", "deferred", "closed")
_PRIORITIES = ("high", "medium", "low")
_COLUMNS = (
    "id",
    "question",
    "score",
    "status",
    "priority",
    "readiness",
    "triggers",
    "bucket_ids",
    "open_obligations",
    "packet_id",
)


@click.group(
    cls=LazyGroup,
    verbs={
        "list": f"{_HERE}:list_focuses",
        "open": f"{_HERE}:open_focus",
        "set": f"{_HERE}:set_focus",
    },
)
def focus() -> None:
    """The questions that are worked on: list, open, set."""


@click.command(name="list", cls=Verb)
@session_argument
@click.option("--limit", type=click.IntRange(1, 256), default=20, show_default=True)
@pass_settings
def list_focuses(settings: Settings, *, session_id: str, limit: int) -> None:
    """The focuses that wait, the most pressing first; takes no lock."""
    with settings.open().looking(session_id) as session:
        show(settings, Answer.many(session.focuses(limit), _COLUMNS))


@click.command(name="open", cls=Verb)
@session_argument
@click.argument("question")
@click.option("--bucket", "buckets", multiple=True, metavar="ID", help="A bucket to watch.")
@click.option("--status", type=click.Choice(_STATUSES))
@click.option("--priority", type=click.Choice(_PRIORITIES))
@click.option("--rationale")
@wait_option
@pass_settings
def open_focus(
    settings: Settings,
    *,
    session_id: str,
    question: str,
    buckets: tuple[str, ...],
    status: str | None,
    priority: str | None,
    rationale: str | None,
    wait_s: float,
) -> None:
    """Open a focus, or change the one that asks the same."""
    with writing(settings, session_id, wait_s) as session:
        own = session.open_focus(
            question, bucket_ids=buckets, status=status, priority=priority, rationale=rationale
        )
        row: dict[str, Any] = {"session_id": session_id, "cursor": session.cursor, "id": own}
        show(settings, Answer.one(row))


@click.command(name="set", cls=Verb)
@session_argument
@click.argument("focus_id", metavar="FOCUS")
@click.option("--status", type=click.Choice(_STATUSES))
@click.option("--priority", type=click.Choice(_PRIORITIES))
@wait_option
@pass_settings
def set_focus(
    settings: Settings,
    *,
    session_id: str,
    focus_id: str,
    status: str | None,
    priority: str | None,
    wait_s: float,
) -> None:
    """Accept, defer or close a focus, or change its priority."""
    with writing(settings, session_id, wait_s) as session:
        made = session.set_focus(focus_id, status=status, priority=priority)
        shown = {name: made[name] for name in _COLUMNS if name in made}
        show(settings, Answer.one({"id": focus_id} | shown | {"cursor": session.cursor}))
