"""Which files below a folder are opened, by any process and thread, as the kernel tells it.

It sees what RocksDB, DuckDB and a plain `open` do, past `Files`. Two opens of one file
with nothing between them are one event, so files are counted, not openings.
"""

import ctypes
import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Self

from varvite.disk.files import storage_error

_IN_OPEN, _IN_OVERFLOW, _IN_DIRECTORY = 0x20, 0x4000, 0x40000000
_EVENT = struct.Struct("iIII")
_READ_BYTES = 1 << 16
_TEMPORARY = re.compile(r"\.\d+-\d+\.tmp$")


class Watched:
    """The folder and all that are in it now are watched until it is closed."""

    def __init__(self, folder: str) -> None:
        """Watch.

        Raises:
            StorageError: the kernel has no watches left, or none at all.
        """
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._folders: dict[int, str] = {}
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise self._error(folder)
        try:
            for path, _, _ in os.walk(folder):
                self._watch(path, os.path.relpath(path, folder))
        except BaseException:
            self.close()
            raise

    def _watch(self, path: str, name: str) -> None:
        number = self._libc.inotify_add_watch(self._fd, os.fsencode(path), _IN_OPEN)
        if number < 0:
            raise self._error(path)
        self._folders[number] = name

    def _error(self, path: str) -> Exception:
        code = ctypes.get_errno()
        return storage_error(OSError(code, os.strerror(code)), f"watching {path}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._fd)

    def opened(self) -> set[str]:
        """The files opened since the last call, by path; temporary names lose their number.

        Raises:
            StorageError: more was opened than the kernel keeps in mind.
        """
        found: set[str] = set()
        with suppress(BlockingIOError):
            while data := os.read(self._fd, _READ_BYTES):
                found.update(self._files(data))
        return found

    def _files(self, data: bytes) -> Iterator[str]:
        at = 0
        while at < len(data):
            number, kind, _, length = _EVENT.unpack_from(data, at)
            at += _EVENT.size + length
            if kind & _IN_OVERFLOW:
                raise storage_error(OSError(os.EX_OSERR, ""), "watching: too much was opened")
            if not kind & _IN_DIRECTORY and number in self._folders:
                name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
                path = os.path.normpath(os.path.join(self._folders[number], name))
                yield _TEMPORARY.sub(".tmp", path)
