"""Writing into a package so that a crash leaves the old bytes or the new ones."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .faults import Fault

LOCK_WAIT_S = 30.0
_POLL_S = 0.02
_TEMPORARY = ".varvite-tmp"


def read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def replace(path: str, data: bytes) -> None:
    """Durable when it returns. A crash may leave a temporary file, for `sweep`."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = path + _TEMPORARY
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise
    sync(os.path.dirname(path))


def remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def sweep(folder: str) -> None:
    """Remove what crashed replacements left anywhere below `folder`, which is locked."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(_TEMPORARY):
                remove(os.path.join(parent, name))


def sync(path: str) -> None:
    """A file or a directory that something else wrote."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def python_files(folder: str) -> list[str]:
    return sorted(
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder)
        for name in names
        if name.endswith(".py")
    )


def snapshot(folder: str) -> dict[str, bytes]:
    """Every source file below `folder`, as bytes: Gaia's own snapshot keeps text alone."""
    return {path: read(path) or b"" for path in python_files(folder)}


def restore(folder: str, before: dict[str, bytes]) -> None:
    for path in python_files(folder):
        if path not in before:
            remove(path)
    for path, data in before.items():
        if read(path) != data:
            replace(path, data)


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold the package against other sessions; the lock is on the directory, no file is made.

    Raises:
        Fault: package_busy, when it was not free within LOCK_WAIT_S.
    """
    os.makedirs(folder, exist_ok=True)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _take(fd, folder)
        yield
    finally:
        os.close(fd)


def _take(fd: int, folder: str) -> None:
    until = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise Fault(
                    "package_busy", f"{folder} is held by another session", retryable=True
                ) from None
            time.sleep(_POLL_S)
        else:
            return
