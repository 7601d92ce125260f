"""`gaia session`: our sessions in Gaia's own command line."""

import os
from typing import Any

STORE = os.path.join(".gaia", "research", "sessions")
"""Where a package keeps its sessions: the part of Gaia's name space that is for them."""


def register(root_app: Any) -> None:
    """Add the group `session` to Gaia's command line; Gaia calls this at its start.

    Nothing else is loaded until one of the commands runs.
    """
    import typer

    app = typer.Typer(name="session", help="Research sessions of a package.", no_args_is_help=True)
    app.command(name="status")(_status)
    root_app.add_typer(app, name="session")


def _status(path: str = ".") -> None:
    """Show the sessions of a package: cursor, nodes and when each was last written."""
    import typer

    from varvite.disk.files import Files, Folder
    from varvite.session.listing import listing

    store = os.path.join(os.path.abspath(path), STORE)
    sessions = []
    if os.path.isdir(store):
        with Folder(Files(), store) as folder:
            sessions = listing(folder)
    if not sessions:
        typer.echo(f"no sessions in {store}")
    for one in sessions:
        typer.echo(_line(one))


def _line(session: dict[str, Any]) -> str:
    counts = " ".join(f"{name} {count}" for name, count in session["counts"].items() if count)
    head = f"{session['session_id']} ({session['kind']}) cursor {session['cursor']}"
    return f"{head} updated {session['updated']} {counts}".rstrip()
