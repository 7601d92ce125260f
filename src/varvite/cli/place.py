"""Where the store is when nobody says."""

import os
from collections.abc import Iterator, Mapping

VARIABLE = "VARVITE_STORE"
IN_PACKAGE = os.path.join(".gaia", "research", "sessions")
ELSEWHERE = ".varvite"


def default_store(directory: str, environ: Mapping[str, str]) -> str:
    """$VARVITE_STORE, else the enclosing Gaia package's sessions, else `.varvite` here."""
    named = environ.get(VARIABLE)
    if named:
        return named
    for parent in _upward(os.path.abspath(directory)):
        if _is_gaia_package(os.path.join(parent, "pyproject.toml")):
            return os.path.join(parent, IN_PACKAGE)
    return os.path.join(directory, ELSEWHERE)


def _upward(directory: str) -> Iterator[str]:
    while True:
        yield directory
        parent = os.path.dirname(directory)
        if parent == directory:
            return
        directory = parent


def _is_gaia_package(file: str) -> bool:
    try:
        with open(file, "rb") as stream:
            data = stream.read()
    except OSError:
        return False
    return b"gaia" in data and _names_gaia(data)


def _names_gaia(data: bytes) -> bool:
    import tomllib

    try:
        tool = tomllib.loads(data.decode()).get("tool")
    except ValueError:
        return False
    return isinstance(tool, dict) and "gaia" in tool
