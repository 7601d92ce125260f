"""`varvite graph accept | project | again | promote | demote | reject | defer`: into Gaia."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from varvite.cli.answer import Answer, show
from varvite.cli.opened import Command, session_argument, writing
from varvite.cli.settings import Settings, Verb, pass_settings, wait_option

if TYPE_CHECKING:
    from varvite.graph.port import GaiaPort

_COLUMNS = ("id", "candidate_id", "action", "outcome", "codes", "verb", "label", "supersedes")


def gaia_options(command: Command) -> Command:
    package = click.option(
        "--package",
        type=click.Path(exists=True, file_okay=False),
        help="The Gaia package.  [default: none; what is asked of Gaia then waits]",
    )
    python = click.option(
        "--gaia-python", metavar="PATH", help="An interpreter with gaia-lang.  [default: this one]"
    )
    return package(python(command))


@contextmanager
def gaia_port(
    session_id: str, package: str | None, python: str | None
) -> "Iterator[GaiaPort | None]":
    """The way to the package, closed at the end; none where no package was named."""
    if package is None:
        yield None
        return
    from varvite.gaia.find import find

    port = find(python=python, owner=session_id)
    try:
        if port.probe().failure is None:
            port.open_package(package)
        yield port
    finally:
        close = getattr(port, "close", None)
        if close is not None:
            close()


@click.command(cls=Verb)
@session_argument
@click.argument("node_ids", metavar="NODE...", nargs=-1, required=True)
@click.option("--chains", is_flag=True, help="Of a variable: the chains that lead to it.")
@wait_option
@pass_settings
def accept(
    settings: Settings, *, session_id: str, node_ids: tuple[str, ...], chains: bool, wait_s: float
) -> None:
    """Plan variables, and papers with their graphs, into source packages of Gaia."""
    with writing(settings, session_id, wait_s) as session:
        made = session.accept(node_ids, chains=chains)
        row = {"session_id": session_id, "cursor": session.cursor, "projections": made}
        show(settings, Answer.one(row))


@click.command(name="again", cls=Verb)
@session_argument
@click.argument("projection_ids", metavar="PROJECTION...", nargs=-1, required=True)
@wait_option
@pass_settings
def again(
    settings: Settings, *, session_id: str, projection_ids: tuple[str, ...], wait_s: float
) -> None:
    """Give projections that failed for good another five attempts."""
    with writing(settings, session_id, wait_s) as session:
        left = session.try_again(projection_ids)
        row = {"session_id": session_id, "cursor": session.cursor, "to_retry": left}
        show(settings, Answer.one(row))


@click.command(cls=Verb)
@session_argument
@click.option("--limit", type=click.IntRange(1, 256), default=256, show_default=True)
@click.option("--check", is_flag=True, help="Check the package afterwards.")
@gaia_options
@wait_option
@pass_settings
def project(
    settings: Settings,
    *,
    session_id: str,
    limit: int,
    check: bool,
    package: str | None,
    gaia_python: str | None,
    wait_s: float,
) -> None:
    """Bring what was planned into the Gaia package, and finish what was begun."""
    with (
        gaia_port(session_id, package, gaia_python) as gaia,
        writing(settings, session_id, wait_s, gaia=gaia) as session,
    ):
        made = session.project(limit, check=check)
        row = {"session_id": session_id, "cursor": session.cursor}
        show(settings, Answer.one(row | made._asdict()))


@click.command(cls=Verb)
@session_argument
@click.argument("candidate_id", metavar="CANDIDATE")
@click.option("--by", "decided_by", required=True, metavar="KIND:NAME", help="Who decides.")
@click.option("--why", required=True, help="The reason.")
@click.option("--verb", help="What it becomes.  [default: as its pattern or hint says]")
@click.option("--p-e-given-h", type=float, help="Of infer: how probable its evidence is.")
@gaia_options
@wait_option
@pass_settings
def promote(
    settings: Settings,
    *,
    session_id: str,
    candidate_id: str,
    decided_by: str,
    why: str,
    verb: str | None,
    p_e_given_h: float | None,
    package: str | None,
    gaia_python: str | None,
    wait_s: float,
) -> None:
    """Let a candidate become stable knowledge, if the gate lets it; a refusal is recorded."""
    with (
        gaia_port(session_id, package, gaia_python) as gaia,
        writing(settings, session_id, wait_s, gaia=gaia) as session,
    ):
        made = session.promote(
            candidate_id, decided_by=decided_by, why=why, verb=verb, p_e_given_h=p_e_given_h
        )
        shown = {name: made[name] for name in (*_COLUMNS, "gate") if name in made}
        show(settings, Answer.one(shown | {"cursor": session.cursor}))


@click.command(cls=Verb)
@session_argument
@click.argument("candidate_id", metavar="CANDIDATE")
@click.option("--by", "decided_by", required=True, metavar="KIND:NAME", help="Who decides.")
@click.option("--why", required=True, help="The reason.")
@gaia_options
@wait_option
@pass_settings
def demote(
    settings: Settings,
    *,
    session_id: str,
    candidate_id: str,
    decided_by: str,
    why: str,
    package: str | None,
    gaia_python: str | None,
    wait_s: float,
) -> None:
    """Take back a promotion; the decision supersedes the earlier one."""
    with (
        gaia_port(session_id, package, gaia_python) as gaia,
        writing(settings, session_id, wait_s, gaia=gaia) as session,
    ):
        made = session.demote(candidate_id, decided_by=decided_by, why=why)
        shown = {name: made[name] for name in (*_COLUMNS, "gate") if name in made}
        show(settings, Answer.one(shown | {"cursor": session.cursor}))


def _decision(name: str, about: str) -> click.Command:
    @session_argument
    @click.argument("candidate_id", metavar="CANDIDATE")
    @click.option("--by", "decided_by", required=True, metavar="KIND:NAME", help="Who decides.")
    @click.option("--why", required=True, help="The reason.")
    @wait_option
    @pass_settings
    def run(
        settings: Settings,
        *,
        session_id: str,
        candidate_id: str,
        decided_by: str,
        why: str,
        wait_s: float,
    ) -> None:
        with writing(settings, session_id, wait_s) as session:
            made = getattr(session, name)(candidate_id, decided_by=decided_by, why=why)
            shown = {one: made[one] for one in _COLUMNS if one in made}
            show(settings, Answer.one(shown | {"cursor": session.cursor}))

    return click.command(name=name, cls=Verb, help=about)(run)


reject = _decision("reject", "Decide against a candidate; needs no Gaia.")
defer = _decision("defer", "Leave a candidate for later; needs no Gaia.")
