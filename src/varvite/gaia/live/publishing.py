"""Letting a source package that was built elsewhere take its place, whatever dies meanwhile."""

import os

from . import files

_COMPILED = ".gaia" + os.sep
_LAST = os.path.join(".gaia", "ir_hash")


def publish(staged: str, root: str) -> None:
    """The sources that differ, then what was compiled, and its hash last: an older one is stale."""
    names = _names(staged)
    for name in _sources(names):
        data = _read(staged, name)
        if data != _read(root, name):
            files.replace(os.path.join(root, name), data or b"")
    compiled = [name for name in names if name.startswith(_COMPILED)]
    for name in sorted(compiled, key=lambda one: (one == _LAST, one)):
        files.replace(os.path.join(root, name), _read(staged, name) or b"")


def stands(staged: str, root: str) -> bool:
    """Whether the very sources lie there, and what was compiled of them."""
    names = _sources(_names(staged))
    return all(_read(root, one) == _read(staged, one) for one in names) and not is_stale(root)


def is_stale(root: str) -> bool:
    """Whether a source was written after what was compiled of it."""
    last = os.path.join(root, _LAST)
    if not os.path.exists(last):
        return True
    written = [os.stat(os.path.join(root, one)).st_mtime_ns for one in _sources(_names(root))]
    return max(written, default=0) > os.stat(last).st_mtime_ns


def _read(root: str, name: str) -> bytes | None:
    return files.read(os.path.join(root, name))


def _sources(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith(_COMPILED)]


def _names(root: str) -> list[str]:
    return sorted(
        os.path.relpath(os.path.join(parent, name), root)
        for parent, _, names in os.walk(root)
        if "__pycache__" not in parent
        for name in names
    )
