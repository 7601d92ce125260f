"""The modules we author into, each whole or absent after a crash.

Gaia appends by rewriting a file in place, so nothing of ours is appended to what has been
recorded: every batch and every promotion gets a module of its own. Its name stands in a
marker while it is being written; a marker that is found means it must go.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from . import files
from .package import Package

MARKER = ".varvite-writing"
ASIDE = ".aside"
SEED = '"""{why}"""\n\n__all__: list[str] = []\n'


def path_of(package: Package, module: str) -> str:
    return os.path.join(package.authored, f"{module}.py")


@contextmanager
def writing(package: Package, module: str, why: str) -> Iterator[str]:
    """Make the module, empty. Where something raises inside, or takes the module away,
    every source file is byte for byte what it was before.
    """
    recover(package)
    path, before = path_of(package, module), files.snapshot(package.source)
    files.replace(os.path.join(package.authored, MARKER), module.encode())
    try:
        files.replace(path, SEED.format(why=why).encode())
        yield path
        if os.path.exists(path):
            files.sync(path)
        else:
            files.restore(package.source, before)
    except BaseException:
        files.restore(package.source, before)
        raise
    finally:
        _unmark(package)


@contextmanager
def set_aside(package: Package, module: str) -> Iterator[None]:
    """The module is gone inside, and back again where something raises."""
    recover(package)
    path = path_of(package, module)
    os.replace(path, path + ASIDE)
    try:
        yield
    except BaseException:
        os.replace(path + ASIDE, path)
        raise
    files.remove(path + ASIDE)
    files.sync(package.authored)


def recover(package: Package) -> None:
    """Undo what a crash left half done; the same call then does it again."""
    files.sweep(package.authored)
    marker = os.path.join(package.authored, MARKER)
    unfinished = files.read(marker)
    if unfinished:
        files.remove(path_of(package, unfinished.decode()))
    files.remove(marker)
    names = os.listdir(package.authored) if os.path.isdir(package.authored) else []
    for name in [name for name in names if name.endswith(ASIDE)]:
        path = os.path.join(package.authored, name)
        os.replace(path, path.removesuffix(ASIDE))


def _unmark(package: Package) -> None:
    """Durably: a marker that came back would take a recorded module with it."""
    if not os.path.isdir(package.authored):
        return
    files.remove(os.path.join(package.authored, MARKER))
    files.sync(package.authored)
    if not os.listdir(package.authored):
        os.rmdir(package.authored)
