"""A fingerprint of a change, the same wherever in a file and on whatever commit it is made."""

import hashlib
import os
from collections.abc import Iterable

DIFF = ("--unified=0", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
"""How git is to show the change: without context."""


def fingerprint(diff: str, fresh: Iterable[tuple[str, bytes]]) -> str:
    """Of a diff as git shows it, and of files that git does not know, each a path and content."""
    found = hashlib.sha256()
    for line in diff.split("\n"):
        if not line.startswith("index "):
            found.update(os.fsencode("@@" if line.startswith("@@") else line) + b"\n")
    for path, content in sorted(fresh):
        found.update(f"{len(content)} {path}\n".encode("utf-8", "surrogateescape") + content)
    return found.hexdigest()[:32]
