"""Where figures were measured, and with which versions."""

import os
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from varvite.disk.system import file_system

PACKAGES = ("varvite", "duckdb", "pyarrow", "rocksdict", "orjson", "pydantic")


@dataclass(frozen=True, slots=True)
class Machine:
    """cores: that this process may use. memory_mb: of the machine."""

    system: str
    processor: str
    cores: int
    memory_mb: int
    file_system: str
    python: str
    versions: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def machine(folder: str) -> Machine:
    """This machine, with the file system that holds `folder`."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return Machine(
        platform.platform(),
        platform.processor() or platform.machine(),
        len(os.sched_getaffinity(0)),
        pages * size >> 20,
        file_system(folder),
        sys.version.split()[0],
        {name: version(name) for name in PACKAGES},
    )
