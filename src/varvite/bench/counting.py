"""What a call costs in bytes and files, counted in this process and by the kernel.

Inside: what went through `Files`. Outside: what the calling thread read by any system
call, and every file of the store that anything opened. Threads of RocksDB's and DuckDB's
own are in `bytes_read_all` only.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from varvite.disk.files import Files
from varvite.errors import UnsupportedSystemError

_THREAD, _PROCESS = "/proc/thread-self/io", "/proc/self/io"


@dataclass(frozen=True, slots=True)
class Counts:
    """Seconds and counts of one call.

    bytes_read, files_opened, bytes_written: through `Files`. keys: looked up in an index.
    bytes_read_outside: by the calling thread, index and interpreter included.
    bytes_read_all: by all threads. files_touched: opened by anything, index files apart.
    """

    seconds: float
    cpu_s: float
    keys: int
    bytes_read: int
    files_opened: int
    bytes_written: int
    bytes_read_outside: int
    bytes_read_all: int
    files_touched: int = 0
    index_files: int = 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def counted(files: Files, call: Callable[[], object]) -> Counts:
    """What the call costs, files touched apart; a process that counts for itself is believed."""
    io, read, read_all = files.io.copy(), _bytes_read(_THREAD), _bytes_read(_PROCESS)
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if isinstance(found, Counts):
        return replace(found, seconds=wall)
    read, read_all = _bytes_read(_THREAD) - read, _bytes_read(_PROCESS) - read_all
    inside = files.io.since(io)
    return Counts(
        seconds=wall,
        cpu_s=cpu,
        keys=inside["keys"],
        bytes_read=inside["bytes_read"],
        files_opened=inside["opens"],
        bytes_written=inside["bytes_written"],
        bytes_read_outside=read,
        bytes_read_all=read_all,
    )


def _bytes_read(file: str) -> int:
    try:
        with open(file, "rb") as stream:
            first = stream.readline()
    except FileNotFoundError:
        raise UnsupportedSystemError(
            f"there is no {file}", hint="bytes are counted by Linux alone"
        ) from None
    return int(first.removeprefix(b"rchar: "))
