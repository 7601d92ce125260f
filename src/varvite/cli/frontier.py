"""`varvite graph frontier`: the calls that are to be made."""

from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.lazy import LazyGroup
from varvite.cli.opened import json_option, session_argument, writing
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option

_HERE = "varvite.cli.frontier"
_KINDS = ("query", "paper", "claim_chain", "obligation")
_PRIORITIES = ("high", "medium", "low")
_COLUMNS = ("id", "item_kind", "request", "status", "attempt", "lease_until", "lease_step")
_OUTCOMES = {"done": "done", "failed": "failed", "skip": "skip"}


@click.group(
    cls=LazyGroup,
    verbs={
        "add": f"{_HERE}:add",
        "lease": f"{_HERE}:lease",
        "done": f"{_HERE}:done",
        "failed": f"{_HERE}:failed",
        "skip": f"{_HERE}:skip",
        "retry": f"{_HERE}:retry",
    },
)
def frontier() -> None:
    """The calls to be made: add, lease, done, failed, skip, retry."""


@click.command(cls=Verb)
@session_argument
@click.argument("text")
@click.option("--kind", "item_kind", type=click.Choice(_KINDS), default="query", show_default=True)
@click.option("--priority", type=click.Choice(_PRIORITIES), default="medium", show_default=True)
@click.option("--request", help="Further fields of the request, a JSON object.")
@wait_option
@pass_settings
def add(
    settings: Settings,
    *,
    session_id: str,
    text: str,
    item_kind: str,
    priority: str,
    request: str | None,
    wait_s: float,
) -> None:
    """Add a call; the same one again adds nothing."""
    more = {} if request is None else json_option("--request", request)
    asked = {"text": text} | more
    with writing(settings, session_id, wait_s) as session:
        own = session.frontier.add(asked, item_kind=item_kind, priority=priority)
        row = {"session_id": session_id, "cursor": session.cursor, "id": own}
        show(settings, Answer.one(row))


@click.command(cls=Verb)
@session_argument
@click.option("--count", type=click.IntRange(1, 256), default=1, show_default=True)
@click.option("--by", default="agent", show_default=True, help="Who makes the calls.")
@click.option("--until", metavar="TIME", help="When the lease ends, UTC.")
@click.option("--for-steps", type=click.IntRange(1), help="After how many steps it ends.")
@click.option("--now", metavar="TIME", help="The caller's time.  [default: the clock's]")
@wait_option
@pass_settings
def lease(
    settings: Settings,
    *,
    session_id: str,
    count: int,
    by: str,
    until: str | None,
    for_steps: int | None,
    now: str | None,
    wait_s: float,
) -> None:
    """Take calls to make, the most pressing first; what is over is leased again."""
    with writing(settings, session_id, wait_s) as session:
        rows = session.frontier.lease(count, by=by, until=until, for_steps=for_steps, now=now)
        show(settings, Answer.many(rows, _COLUMNS))


def _finish(name: str, about: str) -> click.Command:
    @session_argument
    @click.argument("call_id", metavar="CALL")
    @click.option("--by", help="Who held the lease.")
    @click.option("--message", help="What there is to say.")
    @wait_option
    @pass_settings
    def run(
        settings: Settings,
        *,
        session_id: str,
        call_id: str,
        by: str | None,
        message: str | None,
        wait_s: float,
    ) -> None:
        with writing(settings, session_id, wait_s) as session:
            fields: dict[str, Any] = {"message": message} if message else {}
            made = getattr(session.frontier, _OUTCOMES[name])(call_id, by=by, **fields)
            row = {"id": call_id, "status": made["status"], "cursor": session.cursor}
            show(settings, Answer.one(row))

    return click.command(name=name, cls=Verb, help=about)(run)


done = _finish("done", "Say that a leased call was made.")
failed = _finish("failed", "Say that a leased call failed.")
skip = _finish("skip", "Give a call up.")


@click.command(cls=Verb)
@session_argument
@click.argument("call_id", metavar="CALL")
@wait_option
@pass_settings
def retry(settings: Settings, *, session_id: str, call_id: str, wait_s: float) -> None:
    """Add a failed call again, as its next attempt."""
    with writing(settings, session_id, wait_s) as session:
        own = session.frontier.retry(call_id)
        show(settings, Answer.one({"id": own, "retry_of": call_id, "cursor": session.cursor}))
