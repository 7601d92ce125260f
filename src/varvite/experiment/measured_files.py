"""Which files were measured: a digest of all that the scope changes, byte for byte."""

import hashlib
import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from varvite.experiment.git import Changed


def digest(top: str, changed: "Iterable[Changed]") -> str:
    """Of the paths below `top`, what each is and holds. Reads each once.

    What is staged, and what git knows, makes no difference: it is measured alike.
    """
    found = hashlib.sha256()
    for path in sorted(one.path for one in changed):
        kind, content = _content(os.path.join(top, path))
        found.update(f"{kind} {content} {path}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def _content(path: str) -> tuple[str, str]:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return "gone", ""
    if stat.S_ISLNK(mode):
        return "link", hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()
    if not stat.S_ISREG(mode):
        return "other", ""
    with open(path, "rb") as file:
        held = hashlib.file_digest(file, "sha256").hexdigest()
    return ("program" if mode & stat.S_IXUSR else "file"), held
