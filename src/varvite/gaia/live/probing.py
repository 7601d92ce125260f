"""Which Gaia is there, if one is."""

import importlib.util
import shutil
import sys
from importlib import metadata
from typing import Any

from .cost import Meter
from .faults import refuse

PYTHON_MIN = (3, 12)
VERSION_MIN = (0, 5)


def probe(meter: Meter) -> dict[str, Any]:
    """Versions, or the fault python_too_old, gaia_missing or gaia_too_old. Writes nothing."""
    if sys.version_info[:2] < PYTHON_MIN:
        found = sys.version.split()[0]
        refuse("python_too_old", f"Gaia needs Python 3.12 or later, not {found}", retryable=True)
    version = installed()
    if version is None:
        refuse("gaia_missing", f"{sys.executable} has no gaia-lang", retryable=True)
    if numbers(version) < VERSION_MIN or not has_engine():
        message = f"gaia-lang {version} has no engine; 0.5.0a9 or later has"
        refuse("gaia_too_old", message, retryable=True)
    with meter.gaia():
        from gaia._meta import IR_SCHEMA
    return {
        "version": version,
        "ir_schema": IR_SCHEMA,
        "python": sys.version.split()[0],
        "uv": uv(),
    }


def installed() -> str | None:
    try:
        return metadata.version("gaia-lang")
    except metadata.PackageNotFoundError:
        return None


def numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, as far as they are numbers."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())


def has_engine() -> bool:
    try:
        return importlib.util.find_spec("gaia.engine.authoring") is not None
    except ModuleNotFoundError:
        return False


def uv() -> str | None:
    """The uv on PATH, else the one installed beside Gaia."""
    found = shutil.which("uv")
    if found is None and importlib.util.find_spec("uv") is not None:
        from uv import find_uv_bin

        try:
            return str(find_uv_bin())
        except FileNotFoundError:
            return None
    return found
