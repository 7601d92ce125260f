"""The folder that a demo fills, and empties again only if it made it."""

import os
import shutil

from varvite.errors import ConflictError

MARKER = ".varvite-demo"
RESPONSES = "responses.ndjson"
SEARCH = "spin-liquids"
EXPERIMENT = "sort-speed"
_MADE = (SEARCH, EXPERIMENT, "_lake", "_trash", RESPONSES, ".gitignore", ".gitattributes", MARKER)


def prepare(path: str) -> None:
    """Make the folder, or empty it of what an earlier demo made; the rest in it stays.

    Raises:
        ConflictError: it is there, and no demo made it.
    """
    if os.path.lexists(os.path.join(path, MARKER)):
        for name in _MADE:
            _remove(os.path.join(path, name))
    elif os.path.lexists(path) and not _is_empty_folder(path):
        raise ConflictError(
            f"{path} is there, and no demo made it", hint="name another folder: varvite demo DIR"
        )
    os.makedirs(path, mode=0o700, exist_ok=True)
    with open(os.path.join(path, MARKER), "w", encoding="ascii"):
        pass


def _is_empty_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.listdir(path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
