"""A directory in memory, for tests that open hundreds of sessions and sync at every step."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHARED_MEMORY = "/dev/shm"  # noqa: S108  (a directory of its own is made inside)
FREE_BYTES_MIN = 256 << 20


@contextmanager
def memory_path() -> Iterator[Path]:
    """A new directory, in memory where this machine has room for it; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="varvite-", dir=_place()) as path:
        yield Path(path)


def _place() -> str | None:
    if not os.access(SHARED_MEMORY, os.W_OK):
        return None
    free = os.statvfs(SHARED_MEMORY)
    return SHARED_MEMORY if free.f_bavail * free.f_frsize >= FREE_BYTES_MIN else None
