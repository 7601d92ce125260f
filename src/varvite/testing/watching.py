"""Which files a process opens and how many bytes it reads of each, seen from outside it.

strace also sees what RocksDB, DuckDB and the interpreter do, which `ReadSpy` does not.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_OPEN = re.compile(r"^openat\(.*?, (O_[A-Z_|]+)(?:, 0\d+)?\) += \d+<(.+)>$")
_READ = re.compile(r"^(?:p?readv?|pread64|preadv2?)\(\d+<(.+?)>, .* = (\d+)$", re.DOTALL)
_CALLS = "execve,openat,read,pread64,readv,preadv,preadv2"
_HISTORY = re.compile(r"(^|/)journal/|^_lake/|\.jsonl$")

PAGES_BYTES = 8 << 10
"""One page of an index's table, and one of its filter, for each key that is asked for."""

TABLE_BYTES = 128 << 10
"""What opening one table of an index reads."""


@dataclass(slots=True)
class Touched:
    """Files by their path below a folder: how often opened, with which access, bytes read."""

    opened: Counter[str] = field(default_factory=Counter)
    access: dict[str, set[str]] = field(default_factory=dict)
    read: Counter[str] = field(default_factory=Counter)

    def note(self, line: str, folder: str) -> None:
        """Take a line of strace's into account; most are of no interest."""
        if opened := _OPEN.match(line):
            if path := _below(opened[2], folder):
                flags = opened[1].split("|")
                kind = next((one for one in flags if one in {"O_RDWR", "O_WRONLY"}), "O_RDONLY")
                self.opened[path] += 1
                self.access.setdefault(path, set()).add(kind)
        elif (read := _READ.match(line)) and (path := _below(read[1], folder)):
            self.read[path] += int(read[2])


class Trace(NamedTuple):
    """What the main threads of the processes touched, and what other threads did."""

    caller: Touched
    threads: Touched


def is_history(path: str) -> bool:
    """Whether a file, by its path in the store, grows with the history."""
    return _HISTORY.search(path) is not None


def can_trace() -> bool:
    """Whether strace is there and may be used."""
    strace = shutil.which("strace")
    if strace is None:
        return False
    tried = subprocess.run([strace, "-qq", "true"], check=False, capture_output=True)  # noqa: S603
    return tried.returncode == 0


def trace(command: Sequence[str], folder: str) -> Trace:
    """Run a command to its end; what it and its children touched below `folder`.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    found = Trace(Touched(), Touched())
    with tempfile.TemporaryDirectory() as logs:
        options = ["-ff", "-y", "-qq", "-s", "0", "-e", f"trace={_CALLS}", "-o", f"{logs}/log"]
        subprocess.run(["strace", *options, *command], check=True, capture_output=True)  # noqa: S603, S607
        for name in sorted(os.listdir(logs)):
            with open(f"{logs}/{name}", encoding="utf-8", errors="surrogateescape") as file:
                lines = file.read().splitlines()
            touched = found.caller if lines and lines[0].startswith("execve(") else found.threads
            for line in lines:
                touched.note(line, os.path.realpath(folder))
    return found


def _below(path: str, folder: str) -> str | None:
    return os.path.relpath(path, folder) if f"{path}/".startswith(f"{folder}/") else None
