"""The files that a kind of session adds for people: derived, replaced whole, with their cursor."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from varvite.disk import proof
from varvite.disk.files import Folder
from varvite.errors import CorruptError
from varvite.session.identity import Identity
from varvite.session.index import Index
from varvite.session.kind import Kind, Read

TRIES = 3
"""How often a live writer may be ahead before a face is left to it."""


def made(kind: Kind, read: Read) -> dict[str, dict[str, Any]]:
    return {name: show(read) for name, show in kind.faces.items()}


def write(
    folder: Folder, identity: Identity, faces: Mapping[str, dict[str, Any]], cursor: int
) -> None:
    """Replace the files, unsynced."""
    head = {"session_id": identity.id, "uid": identity.uid, "cursor": cursor}
    for name, values in faces.items():
        folder.replace(name, proof.document(head | values), sync=False)


def catch_up(folder: Folder, identity: Identity, kind: Kind, cursor: int) -> None:
    """Write the faces that are behind `cursor`, beside a writer that may be alive.

    A writer brings its index further before it writes a face. So a face that was written
    over by an older one is found by the index being ahead of it, and written again. Costs
    the reading of the faces; the index is opened only where one is behind.

    Raises:
        CorruptError, StorageError: of the index.
        OSError
    """
    if all(_shown(folder, name) >= cursor for name in kind.faces):
        return
    for _ in range(TRIES):
        behind = min(_shown(folder, name) for name in kind.faces)
        with closing(Index(folder, read_only=True)) as index:
            applied = index.applied()
            if applied is None or applied.uid != identity.uid or applied.seq <= behind:
                return
            write(folder, identity, made(kind, index.get), applied.seq)


def _shown(folder: Folder, name: str) -> int:
    """The cursor of a face; 0 where there is none that proves itself."""
    try:
        return int(proof.read_document(folder.read(name), folder.where(name))["cursor"])
    except (FileNotFoundError, CorruptError, KeyError, ValueError, TypeError):
        return 0
