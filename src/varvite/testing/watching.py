"""Which files a piece of work opens and how many bytes it reads of each.

From inside by a `Files` that takes notes; from outside the process by strace, which
also sees what RocksDB, DuckDB and the interpreter do.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from varvite.disk.files import Files

_OPEN = re.compile(r"^openat\(.*?, (O_[A-Z_|]+)(?:, 0\d+)?\) += \d+<(.+)>$")
_READ = re.compile(r"^(?:p?readv?|pread64|preadv2?)\(\d+<(.+?)>, .* = (\d+)$", re.DOTALL)
_CALLS = "openat,read,pread64,readv,preadv,preadv2"


@dataclass(slots=True)
class Touched:
    """Files by their path below a folder: how often opened, with which access, bytes read."""

    opened: Counter[str] = field(default_factory=Counter)
    access: dict[str, set[str]] = field(default_factory=dict)
    read: Counter[str] = field(default_factory=Counter)

    def open(self, path: str, access: str) -> None:
        self.opened[path] += 1
        self.access.setdefault(path, set()).add(access)

    def bytes_read(self, below: str = "") -> int:
        return sum(size for path, size in self.read.items() if path.startswith(below))


class Watching(Files):
    """Files that note every open and read, by the path below `folder`."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.touched = Touched()
        self._folder = os.path.realpath(folder)

    def open(self, name: str, flags: int, *, dir_fd: int | None = None) -> int:
        fd = super().open(name, flags, dir_fd=dir_fd)
        self.touched.open(self._path(fd), _access(flags))
        return fd

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        self.touched.read[self._path(fd)] += len(data)
        return data

    def _path(self, fd: int) -> str:
        return os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), self._folder)


def can_trace() -> bool:
    """Whether strace is there and may be used."""
    strace = shutil.which("strace")
    if strace is None:
        return False
    tried = subprocess.run([strace, "-qq", "true"], check=False, capture_output=True)  # noqa: S603
    return tried.returncode == 0


def trace(command: Sequence[str], folder: str) -> Touched:
    """Run a command to its end; what it, its threads and its children touched below `folder`.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    with tempfile.TemporaryDirectory() as logs:
        options = ["-ff", "-y", "-qq", "-s", "0", "-e", f"trace={_CALLS}", "-o", f"{logs}/log"]
        subprocess.run(["strace", *options, *command], check=True, capture_output=True)  # noqa: S603, S607
        touched = Touched()
        for name in sorted(os.listdir(logs)):
            with open(f"{logs}/{name}", encoding="utf-8", errors="surrogateescape") as lines:
                for line in lines:
                    _note(line.rstrip("\n"), os.path.realpath(folder), touched)
    return touched


def _note(line: str, folder: str, touched: Touched) -> None:
    if opened := _OPEN.match(line):
        if _inside(opened[2], folder):
            flags = opened[1].split("|")
            access = next((flag for flag in flags if flag in {"O_RDWR", "O_WRONLY"}), "O_RDONLY")
            touched.open(os.path.relpath(opened[2], folder), access)
    elif (read := _READ.match(line)) and _inside(read[1], folder):
        touched.read[os.path.relpath(read[1], folder)] += int(read[2])


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _access(flags: int) -> str:
    return {os.O_RDWR: "O_RDWR", os.O_WRONLY: "O_WRONLY"}.get(flags & os.O_ACCMODE, "O_RDONLY")
