"""The parts of docs/sql.md that follow from sql/ and the contracts.

`python -m varvite.query.reference docs/sql.md` writes them anew, between the marks.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from varvite.query import statements
from varvite.query.statements import Column, Statement
from varvite.records.contracts import CONTRACTS
from varvite.records.fields import ENVELOPE
from varvite.segments.scan import columns

_PART = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def refreshed(text: str) -> str:
    """The document with every part between `<!-- name -->` and `<!-- end -->` written anew."""
    made = {"views": _views, "queries": _queries, "streams": _streams}
    return _PART.sub(lambda part: f"{part[1]}\n{made[part[2]]()}\n{part[3]}", text)


def _views() -> str:
    return "\n".join(_statement(view) for view in statements.views().values())


def _queries() -> str:
    return "\n".join(_statement(query) for query in statements.queries().values())


def _statement(statement: Statement) -> str:
    tables = [_table("column", statement.columns)]
    if statement.params:
        tables.insert(0, _table("parameter", statement.params))
    prose = [statement.summary, statement.details]
    return "\n".join([f"### {statement.name}", "", *prose, "", *tables])


def _table(head: str, rows: Iterable[Column]) -> str:
    lines = [f"| {head} | type | null | |", "|---|---|---|---|"]
    lines += [f"| {row.name} | {row.type} | {_null(row)} | {_cell(row.note)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _null(row: Column) -> str:
    return "yes" if row.nullable else "no"


def _cell(note: str) -> str:
    return note.replace("|", "\\|")


def _streams() -> str:
    lines = ["| relation | columns of its own |", "|---|---|"]
    lines += [f"| streams.{stream} | {_own(columns(stream))} |" for stream in sorted(CONTRACTS)]
    return "\n".join(lines) + "\n"


def _own(found: Mapping[str, str]) -> str:
    outside = {"session_id", "session_uid", "body", *ENVELOPE}
    return ", ".join(
        f"{name} {kind.lower()}" for name, kind in found.items() if name not in outside
    )


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(refreshed(document.read_text("utf-8")), "utf-8")
