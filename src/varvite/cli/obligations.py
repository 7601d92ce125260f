"""`varvite graph obligations`: what must be answered."""

import click

from varvite.cli.answer import Answer, show
from varvite.cli.lazy import LazyGroup
from varvite.cli.opened import session_argument, writing
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option

_HERE = "varvite.cli.obligations"
_TARGETS = ("focus", "bucket", "node", "gaia_qid")
_ACTS = {"defer": "defer", "close": "close", "reopen": "reopen"}
_COLUMNS = (
    "id",
    "content",
    "diagnostic_kind",
    "target_kind",
    "target_id",
    "focus_id",
    "overdue",
    "opened_step",
    "due_step",
    "gaia_qid",
)


@click.group(
    cls=LazyGroup,
    verbs={
        "list": f"{_HERE}:list_open",
        "open": f"{_HERE}:open_one",
        "defer": f"{_HERE}:defer",
        "close": f"{_HERE}:close",
        "reopen": f"{_HERE}:reopen",
    },
)
def obligations() -> None:
    """What must be answered: list, open, defer, close, reopen."""


@click.command(name="list", cls=Verb)
@session_argument
@pass_settings
def list_open(settings: Settings, *, session_id: str) -> None:
    """The open ones at hand, overdue ones first; takes no lock."""
    with settings.open().looking(session_id) as session:
        show(settings, Answer.many(session.obligations(), _COLUMNS))


@click.command(name="open", cls=Verb)
@session_argument
@click.argument("content")
@click.option("--target", "target_id", required=True, metavar="ID", help="What it is about.")
@click.option("--target-kind", type=click.Choice(_TARGETS), default="focus", show_default=True)
@click.option("--kind", default="other", show_default=True, help="In Gaia's words, or yours.")
@click.option("--why", help="The reason.")
@wait_option
@pass_settings
def open_one(
    settings: Settings,
    *,
    session_id: str,
    content: str,
    target_id: str,
    target_kind: str,
    kind: str,
    why: str | None,
    wait_s: float,
) -> None:
    """Open an obligation; the same one again changes nothing."""
    with writing(settings, session_id, wait_s) as session:
        own = session.obligations.open(
            content, target_kind=target_kind, target_id=target_id, kind=kind, why=why
        )
        row = {"session_id": session_id, "cursor": session.cursor, "id": own}
        show(settings, Answer.one(row))


def _act(name: str, about: str) -> click.Command:
    @session_argument
    @click.argument("obligation_id", metavar="OBLIGATION")
    @click.option("--why", required=True, help="The reason.")
    @wait_option
    @pass_settings
    def run(
        settings: Settings, *, session_id: str, obligation_id: str, why: str, wait_s: float
    ) -> None:
        with writing(settings, session_id, wait_s) as session:
            made = getattr(session.obligations, _ACTS[name])(obligation_id, why)
            row = {"id": obligation_id, "status": made["status"], "cursor": session.cursor}
            show(settings, Answer.one(row))

    return click.command(name=name, cls=Verb, help=about)(run)


defer = _act("defer", "Leave an obligation for later: it falls due no more.")
close = _act("close", "Close an obligation.")
reopen = _act("reopen", "Open a deferred or closed obligation again.")
