"""All sessions of a store at a glance, from small files alone."""

from dataclasses import asdict
from typing import Any

from varvite import ids
from varvite.disk.files import Folder, is_folder
from varvite.errors import VarviteError
from varvite.session import identity as identities
from varvite.session.identity import Identity
from varvite.session.reader import Reader


def names(store: Folder) -> list[str]:
    """The directories whose name may be a session's and that hold a `session.json`."""
    return [name for name in store.names() if ids.SESSION_ID.fullmatch(name) and _is(store, name)]


def _is(store: Folder, name: str) -> bool:
    if not is_folder(store.stat(name)):
        return False
    with store.folder(name) as folder:
        return folder.stat(identities.FILE) is not None


def listing(store: Folder) -> list[dict[str, Any]]:
    """One row a session, by name; a damaged one has an `error` in place of its state."""
    return [_row(store, name) for name in names(store)]


def kinds(store: Folder) -> dict[str, str]:
    """The kind of each session, by name. Reads one small file a session.

    Raises:
        NotASessionError, CorruptError, NewerFormatError
    """
    found = {}
    for name in names(store):
        with identities.open_folder(store, name) as session:
            found[name] = identities.read(session).kind
    return found


def row(store: Folder, session_id: str) -> dict[str, Any]:
    """One session at a glance; `counts` and `summary` are those at the cursor `counts_at`.

    Raises:
        SessionNotFoundError, NotASessionError, CorruptError, NewerFormatError
    """
    with Reader(store, session_id) as reader:
        return _head(reader.identity) | _state(reader)


def _row(store: Folder, name: str) -> dict[str, Any]:
    try:
        return row(store, name)
    except VarviteError as error:
        return {"session_id": name, "error": error.as_dict()}


def _head(identity: Identity) -> dict[str, Any]:
    head = asdict(identity)
    return {"session_id": head.pop("id")} | head


def _state(reader: Reader) -> dict[str, Any]:
    """The state, brought to the reader's cursor as far as the tail tells."""
    known = reader.state
    counts = dict(known.counts) if known else {}
    return {
        "cursor": reader.cursor,
        "updated": reader.last.at if reader.last else known.at if known else None,
        "counts": counts,
        "counts_at": known.cursor if known else 0,
        "summary": known.summary if known else {},
    }
