"""The SQL that ships with the package: one statement a file, its header the contract."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from varvite.errors import NotFoundError

_FIELD = re.compile(
    r"(?P<name>\w+)\s+(?P<type>\S+)(?:\s+(?P<null>not null|null))?(?:\s+(?P<note>.*))?$"
)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    nullable: bool
    note: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with what its header promises. `text` is the SQL without the header."""

    name: str
    summary: str
    params: tuple[Column, ...]
    columns: tuple[Column, ...]
    text: str


def folder() -> Traversable:
    """Where the SQL lies: in the package as installed, else beside the sources."""
    shipped = files("varvite") / "sql"
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "sql"


@cache
def views() -> dict[str, Statement]:
    return _load("views")


@cache
def queries() -> dict[str, Statement]:
    return _load("queries")


def query(name: str) -> Statement:
    """A named query.

    Raises:
        NotFoundError
    """
    try:
        return queries()[name]
    except KeyError:
        known = ", ".join(sorted(queries()))
        raise NotFoundError(f"no query is named {name!r}", hint=f"there are: {known}") from None


def _load(kind: str) -> dict[str, Statement]:
    found = (folder() / kind).iterdir()
    paths = sorted((path for path in found if path.name.endswith(".sql")), key=lambda p: p.name)
    return {path.name[:-4]: parse(path.name[:-4], path.read_text("utf-8")) for path in paths}


def parse(name: str, text: str) -> Statement:
    """Read a statement and its header."""
    lines = text.splitlines()
    header = [line[2:].removeprefix(" ") for line in lines if line.startswith("--")]
    body = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
    prose = [line for line in header if not _section(line) and not line.startswith("  ")]
    fields: dict[str, list[Column]] = {"params": [], "columns": []}
    section = ""
    for line in header:
        section = _section(line) or (section if line.startswith("  ") else "")
        if section:
            fields[section].append(_column(line.removeprefix(f"{section}:").strip()))
    return Statement(
        name,
        " ".join(prose).strip(),
        tuple(fields["params"]),
        tuple(fields["columns"]),
        body,
    )


def _section(line: str) -> str:
    return next((name for name in ("params", "columns") if line.startswith(f"{name}:")), "")


def _column(text: str) -> Column:
    match = _FIELD.match(text)
    if not match:
        raise ValueError(f"not a column: {text!r}")
    return Column(match["name"], match["type"], match["null"] != "not null", match["note"] or "")
