"""`varvite graph brief | packets | assess | drop | import | pause | resume`."""

from dataclasses import asdict
from typing import Any, BinaryIO

import click

from varvite.cli.answer import Answer, show
from varvite.cli.opened import json_in, session_argument, writing
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option
from varvite.errors import MalformedInputError

_PACKET = ("id", "focus_id", "question", "triggers", "evidence", "allowed_refs")


@click.command(cls=Verb)
@session_argument
@click.option("--size", type=click.IntRange(1, 10), default=1, help="A multiple of what is shown.")
@pass_settings
def brief(settings: Settings, *, session_id: str, size: int) -> None:
    """All that is needed to go on: focuses, packets, obligations, repairs; takes no lock."""
    with settings.open().looking(session_id) as session:
        show(settings, Answer.one(session.brief(size=size)))


@click.command(cls=Verb)
@session_argument
@click.option("--limit", type=click.IntRange(1, 64), default=10, show_default=True)
@pass_settings
def packets(settings: Settings, *, session_id: str, limit: int) -> None:
    """The evidence packets that wait for an answer, the most pressing first; takes no lock."""
    with settings.open().looking(session_id) as session:
        rows = [one._asdict() for one in session.packets(limit)]
        show(settings, Answer.many(rows, _PACKET))


@click.command(cls=Verb)
@session_argument
@click.argument("packet_id", metavar="PACKET")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--key", help="Idempotency key: the same one again adds nothing.")
@wait_option
@pass_settings
def assess(
    settings: Settings,
    *,
    session_id: str,
    packet_id: str,
    file: BinaryIO,
    key: str | None,
    wait_s: float,
) -> None:
    """Answer a packet with candidate relations.

    FILE (or stdin) has a list of relations, or an object with them under `relations`.
    What cannot be taken comes back as a repair context: mend it, name it in `repairs`,
    and answer again.
    """
    drafts = _drafts(json_in(file))
    with writing(settings, session_id, wait_s) as session:
        receipt = session.assess(packet_id, drafts, key=key)
        show(settings, Answer.one({"session_id": session_id} | asdict(receipt)))


def _drafts(value: Any) -> list[Any]:
    found = value.get("relations") if isinstance(value, dict) else value
    if not isinstance(found, list):
        raise MalformedInputError("expected a list of relations", path="$")
    return found


@click.command(cls=Verb)
@session_argument
@click.argument("repair_id", metavar="REPAIR")
@click.option("--why", required=True, help="The reason.")
@wait_option
@pass_settings
def drop(settings: Settings, *, session_id: str, repair_id: str, why: str, wait_s: float) -> None:
    """Give up a draft that waits for repair; its packet goes on when that was the last one."""
    with writing(settings, session_id, wait_s) as session:
        advanced = session.drop_repair(repair_id, why)
        row = {"session_id": session_id, "id": repair_id, "advanced": advanced}
        show(settings, Answer.one(row | {"cursor": session.cursor}))


@click.command(name="import", cls=Verb)
@session_argument
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--source", help="The log's name in the session.  [default: the file's name]")
@click.option(
    "--closed", is_flag=True, help="Nobody writes to it any more: its last line needs no newline."
)
@wait_option
@pass_settings
def import_growth(
    settings: Settings,
    *,
    session_id: str,
    file: str,
    source: str | None,
    closed: bool,
    wait_s: float,
) -> None:
    """Take over the decisions of a growth log; again, and only what is new is added."""
    from varvite.adapters.growth import GrowthLog

    with writing(settings, session_id, wait_s) as session:
        report = session.import_growth(GrowthLog(file, source=source, closed=closed))
        row = asdict(report) | {"quarantined": [one._asdict() for one in report.quarantined]}
        show(settings, Answer.one({"session_id": session_id} | row))


@click.command(cls=Verb)
@session_argument
@click.option("--why", default="", help="The reason.")
@wait_option
@pass_settings
def pause(settings: Settings, *, session_id: str, why: str, wait_s: float) -> None:
    """Take no more records until someone resumes."""
    with writing(settings, session_id, wait_s) as session:
        session.pause(why)
        show(settings, Answer.one(session.status()))


@click.command(cls=Verb)
@session_argument
@click.option("--why", default="", help="The reason.")
@wait_option
@pass_settings
def resume(settings: Settings, *, session_id: str, why: str, wait_s: float) -> None:
    """Take records again, and say how to go on."""
    with writing(settings, session_id, wait_s) as session:
        show(settings, Answer.one(session.resume(why)))
