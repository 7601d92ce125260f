"""`varvite graph buckets`: the parts of the field that new nodes are assigned to."""

from typing import Any

import click

from varvite.cli.answer import Answer, show
from varvite.cli.lazy import LazyGroup
from varvite.cli.opened import session_argument, writing
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option

_HERE = "varvite.cli.buckets"
_COLUMNS = (
    "id",
    "label",
    "coverage_status",
    "nodes",
    "papers",
    "claims",
    "questions",
    "open_gaps",
    "focus_ids",
    "role",
    "required",
    "updated_seq",
)


@click.group(
    cls=LazyGroup,
    verbs={"list": f"{_HERE}:list_buckets", "open": f"{_HERE}:open_bucket"},
)
def buckets() -> None:
    """The parts of the field that new nodes are assigned to: list, open."""


@click.command(name="list", cls=Verb)
@session_argument
@pass_settings
def list_buckets(settings: Settings, *, session_id: str) -> None:
    """All buckets in the order in which they were opened; takes no lock."""
    with settings.open().looking(session_id) as session:
        show(settings, Answer.many(session.field_map()["buckets"], _COLUMNS))


@click.command(name="open", cls=Verb)
@session_argument
@click.argument("label")
@click.option("--term", "terms", multiple=True, metavar="WORDS", help="A phrase of its texts.")
@click.option("--criteria", default="", help="What belongs to it, in words.")
@click.option("--role", default="", help="What it is for; `out_of_scope`: not to be covered.")
@click.option("--required", is_flag=True, help="The field is not covered without it.")
@click.option("--id", "bucket_id", metavar="ID", help="An id of your own.")
@wait_option
@pass_settings
def open_bucket(
    settings: Settings,
    *,
    session_id: str,
    label: str,
    terms: tuple[str, ...],
    criteria: str,
    role: str,
    required: bool,
    bucket_id: str | None,
    wait_s: float,
) -> None:
    """Open a part of the field; again with the same meaning it adds nothing."""
    with writing(settings, session_id, wait_s) as session:
        own = session.open_bucket(
            label, terms=terms, criteria=criteria, role=role, required=required, bucket_id=bucket_id
        )
        row: dict[str, Any] = {"session_id": session_id, "cursor": session.cursor, "id": own}
        show(settings, Answer.one(row))
