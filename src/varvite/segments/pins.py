"""A reader says which generation it reads, so that no sweep takes its files away.

A pin is an empty file under flock: the kernel frees it with its process, and a pin
that can be locked is dead. Where the store cannot be written a reader has no pin,
and the grace period alone keeps its files.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from varvite import ids
from varvite.disk.files import Folder
from varvite.disk.lock import Lock
from varvite.errors import SessionLockedError, VarviteError
from varvite.segments import manifest as manifests
from varvite.segments.manifest import LAKE, PINS, Manifest, ensured

_NAME = re.compile(r"([1-9]\d*)-\d+-[0-9a-f]{32}")


@contextmanager
def pinned(store: Folder) -> Iterator[Manifest]:
    """The newest generation, kept whole for the length of the block.

    Raises:
        CorruptError, NewerFormatError
    """
    while True:
        manifest = manifests.load(store)
        with _pin(store, manifest.generation):
            if manifest.generation == 0 or manifest.generation in manifests.generations(store):
                yield manifest
                return


@contextmanager
def _pin(store: Folder, generation: int) -> Iterator[None]:
    name = f"{generation}-{os.getpid()}-{ids.uid()}"
    try:
        with store.folder(LAKE) as lake:
            folder = ensured(lake, PINS)
    except OSError:
        yield
        return
    with folder:
        lock = _take(folder, name)
        try:
            yield
        finally:
            if lock:
                folder.remove(name)
                lock.release()


def _take(folder: Folder, name: str) -> Lock | None:
    try:
        return Lock.acquire(folder, name, what=name)
    except (OSError, VarviteError):
        return None


def generations(lake: Folder) -> set[int]:
    """The generations that a living reader pins; pins of dead ones are removed."""
    found: set[int] = set()
    with ensured(lake, PINS) as folder:
        for name in folder.names():
            match = _NAME.fullmatch(name)
            if match and not _dead(folder, name):
                found.add(int(match[1]))
    return found


def _dead(folder: Folder, name: str) -> bool:
    try:
        lock = Lock.acquire(folder, name, what=name)
    except SessionLockedError:
        return False
    folder.remove(name)
    lock.release()
    return True
