"""A disk that fails: any one operation, or all from it on, or the whole process at it.

`Faulty` numbers the operations of `Files` from 1; a fault sees each before it is done.
"""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

from varvite.disk.files import Files, Folder

_Made = TypeVar("_Made")


class Crash(BaseException):
    """The process ended here: nothing after this reaches the disk."""


class Fault(Protocol):
    def __call__(self, number: int, operation: str, do: Callable[[], _Made]) -> _Made: ...


@dataclass
class Fail:
    """Raise `code` at operation `at`, and with `forever` at each one after it.

    only: the operations that may fail; empty for all. A failed close closes all the same.
    """

    at: int
    code: int
    forever: bool = False
    only: frozenset[str] = frozenset()
    struck: list[str] = field(default_factory=list)

    def __call__(self, number: int, operation: str, do: Callable[[], _Made]) -> _Made:
        due = number >= self.at if self.forever else number == self.at
        if not due or (self.only and operation not in self.only):
            return do()
        self.struck.append(operation)
        if operation == "close":
            do()
        raise OSError(self.code, os.strerror(self.code))


@dataclass
class Kill:
    """End the process at operation `at`; every later one raises too.

    when: before it is done, after it, or half-way where it is a write.
    """

    at: int
    when: Literal["before", "half", "after"] = "before"

    def __call__(self, number: int, _operation: str, do: Callable[[], _Made]) -> _Made:
        if number < self.at:
            return do()
        if self.when != "before" and number == self.at:
            do()
        raise Crash(f"at operation {self.at}")

    def writes(self, number: int, size: int) -> int:
        return size // 2 if self.when == "half" and number == self.at else size


class Faulty(Files):
    """Files whose operations go through `fault`; `seen` names them in order.

    write_at_most: bytes that one write takes; all by default. The descriptors that are
    open are in `open_now`, so that `abandon` can close them as the kernel would.
    """

    def __init__(self, fault: Fault | None = None, *, write_at_most: int | None = None) -> None:
        super().__init__()
        self.fault = fault
        self.write_at_most = write_at_most
        self.seen: list[str] = []
        self.open_now: set[int] = set()

    def _do(self, operation: str, do: Callable[[], _Made]) -> _Made:
        self.seen.append(operation)
        return self.fault(len(self.seen), operation, do) if self.fault else do()

    def arm(self, fault: Fault | None) -> None:
        """Count anew from 1 under another fault."""
        self.seen.clear()
        self.fault = fault

    def abandon(self) -> None:
        """Close what is open: the end of the process, whose locks go with it."""
        while self.open_now:
            os.close(self.open_now.pop())

    def open(self, name: str, flags: int, *, dir_fd: int | None = None) -> int:
        def do() -> int:
            fd = Files.open(self, name, flags, dir_fd=dir_fd)
            self.open_now.add(fd)
            return fd

        return self._do("open", do)

    def close(self, fd: int) -> None:
        def do() -> None:
            self.open_now.discard(fd)
            Files.close(self, fd)

        self._do("close", do)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        return self._do("pread", lambda: Files.pread(self, fd, size, offset))

    def write(self, fd: int, data: bytes | memoryview) -> int:
        part = data[: self.write_at_most]
        if isinstance(self.fault, Kill):
            part = part[: self.fault.writes(len(self.seen) + 1, len(part))]
        return self._do("write", lambda: Files.write(self, fd, part))

    def truncate(self, fd: int, size: int) -> None:
        self._do("truncate", lambda: Files.truncate(self, fd, size))

    def sync_data(self, fd: int) -> None:
        self._do("sync_data", lambda: Files.sync_data(self, fd))

    def sync(self, fd: int) -> None:
        self._do("sync", lambda: Files.sync(self, fd))

    def rename(self, old: str, new: str, *, old_dir: int, new_dir: int) -> None:
        self._do("rename", lambda: Files.rename(self, old, new, old_dir=old_dir, new_dir=new_dir))

    def link(self, old: str, new: str, *, old_dir: int, new_dir: int) -> None:
        self._do("link", lambda: Files.link(self, old, new, old_dir=old_dir, new_dir=new_dir))

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self._do("unlink", lambda: Files.unlink(self, name, dir_fd=dir_fd))

    def mkdir(self, name: str, *, dir_fd: int) -> None:
        self._do("mkdir", lambda: Files.mkdir(self, name, dir_fd=dir_fd))

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        self._do("rmdir", lambda: Files.rmdir(self, name, dir_fd=dir_fd))

    def names(self, fd: int) -> list[str]:
        return self._do("names", lambda: Files.names(self, fd))

    def stat(self, name: str, *, dir_fd: int) -> os.stat_result:
        return self._do("stat", lambda: Files.stat(self, name, dir_fd=dir_fd))

    def fstat(self, fd: int) -> os.stat_result:
        return self._do("fstat", lambda: Files.fstat(self, fd))


class ReadSpy(Files):
    """Counts what is opened and read, by path below `root`."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = os.path.realpath(root)
        self._paths: dict[int, str] = {}
        self.opened: Counter[str] = Counter()
        self.bytes_by_path: Counter[str] = Counter()

    def clear(self) -> None:
        self.opened.clear()
        self.bytes_by_path.clear()

    def open(self, name: str, flags: int, *, dir_fd: int | None = None) -> int:
        fd = super().open(name, flags, dir_fd=dir_fd)
        path = os.readlink(f"/proc/self/fd/{fd}")
        self._paths[fd] = os.path.relpath(path, self._root)
        self.opened[self._paths[fd]] += 1
        return fd

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        if data:
            self.bytes_by_path[self._paths[fd]] += len(data)
        return data


def folder(files: Files, path: str | os.PathLike[str]) -> Folder:
    """The store at `path` through `files`."""
    return Folder(files, os.fspath(path))
