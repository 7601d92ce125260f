"""What a session knows, written for people from its records alone.

Each section of `report.md` shows a table of the result, and each sentence of it names the
records that it is about.
"""

import re
import unicodedata
from collections.abc import Iterable, Sized
from typing import Any

import orjson
from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from varvite.checkpoints.job import Job, Parameter, Stage
from varvite.checkpoints.run import Run

REPORT = "report.md"
TEXT_CHARS = 200
LISTS = ("seen", "questions", "relations", "unanswered", "failures")
"""Tables that are cut after the parameter `most`."""
_TOTALS = {
    "seen": ("variables met",),
    "questions": ("focuses candidate", "focuses accepted"),
    "unanswered": ("obligations open",),
}
_SPECIAL = re.compile(r"[\\`*\[\]|~$@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""What Markdown reads within a line: an underscore at the edge of a word, a link that is one."""
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _collect(run: Run) -> dict[str, Any]:
    params = {"most": run.parameters["most"]}
    for done, table in enumerate(("counts", "parts", *LISTS)):
        run.report(table, done, 2 + len(LISTS))
        run.make(table, f"narrative_{table}", params if table in LISTS else None)
    return {}


def _write(run: Run) -> dict[str, Any]:
    run.report("writing", 0, 1)
    ((session, cursor),) = run.cursors.items()
    tables = {name: _rows(run, name) for name in ("counts", "parts", *LISTS)}
    text = rendered(session, cursor, tables)
    run.write(REPORT, text)
    return {"report_chars": len(text)}


def _rows(run: Run, table: str) -> list[dict[str, Any]]:
    return [row for batch in run.engine.batches(table) for row in batch.to_pylist()]


def rendered(session: str, cursor: int, tables: dict[str, list[dict[str, Any]]]) -> str:
    """The report: Markdown in which no text of a record is anything but text."""
    environment = Environment(
        loader=PackageLoader("varvite.checkpoints", "."),
        autoescape=False,  # noqa: S701  (`finalize` writes each text as Markdown)
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"id": identity, "ids": _identities, "lacks": _lacks, "told": _told}
    template = environment.get_template("report.md.j2")
    return template.render(
        session=session,
        cursor=cursor,
        totals=_totals(tables["counts"], tables["relations"]),
        **tables,
    )


def _totals(counts: list[dict[str, Any]], relations: list[dict[str, Any]]) -> dict[str, int]:
    """How many there are of what each list shows the first of."""
    found = {f"{row['what']} {row['kind']}": row["found"] for row in counts}
    found["variables met"] = found.get("variables met in results", 0)
    totals = {name: sum(found.get(key, 0) for key in keys) for name, keys in _TOTALS.items()}
    statuses = {row["status"] for row in relations}
    return totals | {one: found[f"relations {one}"] for one in statuses}


def _finalize(value: Any) -> Any:
    return escaped(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def escaped(text: str) -> str:
    """The text on one line, cut after TEXT_CHARS, with nothing in it that Markdown reads."""
    seen = "".join(" " if _is_hidden(one) else one for one in text)
    line = " ".join(seen.split())
    cut = line if len(line) <= TEXT_CHARS else f"{line[: TEXT_CHARS - 1]}…"
    return "".join(_HTML.get(one, one) for one in _SPECIAL.sub(r"\\\g<0>", cut))


def _is_hidden(letter: str) -> bool:
    """Control and format characters: they move the cursor, or turn the direction of a text."""
    return unicodedata.category(letter).startswith("C")


def identity(text: str) -> Markup:
    """An id as code, or as escaped text where it would end the code itself."""
    plain = text.isprintable() and not set("`|") & set(text)
    return Markup(f"`{text}`" if plain else escaped(text))  # noqa: S704  (escaped for Markdown)


def _told(rows: Sized, table: str, total: int) -> Markup:
    """How many of all a list shows, and where they are from."""
    return Markup(f"{len(rows)} of {total}; table `{table}`, by `narrative_{table}`.")  # noqa: S704


def _identities(found: Iterable[str] | None) -> Markup:
    return Markup(", ").join(identity(one) for one in found or ())


def _lacks(gaps: str | None) -> str:
    """The open gaps of a part, each as its own words."""
    found = orjson.loads(gaps or "[]")
    return ", ".join(" ".join(str(value) for value in gap.values()) for gap in found)


JOB = Job(
    "narrative",
    "Writes a report of the field, from the records alone.",
    stages=(
        Stage("collect", _collect, ("counts", "parts", *LISTS)),
        Stage("write", _write, texts=(REPORT,)),
    ),
    kind="graph",
    parameters={"most": Parameter(20, "entries of each list", 0, 10_000)},
)
