"""The SQL that ships with the package: one statement a file, its header the contract."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from varvite.errors import InputError, NotFoundError

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
    """A statement with what its header promises. `text` is the SQL without the header.

    summary: what it answers. details: what it costs.
    """

    name: str
    summary: str
    details: str
    params: tuple[Column, ...]
    columns: tuple[Column, ...]
    text: str

    def bound(self, given: Mapping[str, Any] | list[Any] | None) -> dict[str, Any]:
        """A value for each parameter; one that may be null is so where none is given.

        Raises:
            InputError: a parameter that is missing, or that there is not.
        """
        values = dict(given) if isinstance(given, Mapping) else {}
        names = {param.name for param in self.params}
        missing = {param.name for param in self.params if not param.nullable} - values.keys()
        if (given and not isinstance(given, Mapping)) or missing or not values.keys() <= names:
            known = ", ".join(f"{param.name} {param.type}" for param in self.params) or "none"
            raise InputError(f"{self.name} is not asked that way", hint=f"its parameters: {known}")
        return dict.fromkeys(sorted(names)) | values


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


@cache
def checkpoints() -> dict[str, Statement]:
    return _load("checkpoints")


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
    summary, _, details = "\n".join(prose).partition("\n\n")
    fields: dict[str, list[Column]] = {"params": [], "columns": []}
    section = ""
    for line in header:
        section = _section(line) or (section if line.startswith("  ") else "")
        if section:
            fields[section].append(_column(line.removeprefix(f"{section}:").strip()))
    return Statement(
        name,
        summary.replace("\n", " "),
        details.strip().replace("\n", " "),
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
