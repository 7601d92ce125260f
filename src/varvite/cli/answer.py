"""What a verb answers, and how each format writes it on stdout."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click
import orjson

from varvite.cli.plain import escape_json, plain
from varvite.cli.settings import BINARY_FORMATS, Settings

if TYPE_CHECKING:
    from varvite.query.result import Result

ROWS_MAX = 1000
CELL_CHARS_MAX = 200
"""Of a table, which is for people; the other formats give all of everything."""

_JSON_OPTIONS = orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows under columns, no two of one name. single: one thing, an object rather than a list."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    single: bool = False

    @classmethod
    def one(cls, row: Mapping[str, Any]) -> "Answer":
        return cls(list(row), [list(row.values())], single=True)

    @classmethod
    def many(cls, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> "Answer":
        return cls(columns, [[row.get(name) for name in columns] for row in rows])

    def dicts(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def show(settings: Settings, answer: Answer) -> None:
    """Write the answer in the format asked for."""
    _write(_TEXT[settings.shape](answer))


def show_result(settings: Settings, result: "Result") -> None:
    """Write an SQL answer, in a binary format too.

    Raises:
        click.UsageError: a binary format, and stdout is a terminal.
    """
    if settings.shape not in BINARY_FORMATS:
        show(settings, Answer(result.columns, result.rows()))
        return
    if sys.stdout.isatty():
        raise click.UsageError(f"{settings.shape} is not for terminals; send it to a file")
    from varvite.query import files

    _write([files.WRITERS[settings.shape](result.arrow())])


def render_table(answer: Answer, *, indent: int = 0) -> str:
    """The rows as a table, without the line that counts them."""
    return next(_table(answer, indent=indent)).decode()


def _write(parts: Iterable[bytes]) -> None:
    """Write to stdout. A reader that has gone away (`| head`) ends the command quietly."""
    stream = sys.stdout.buffer
    try:
        for part in parts:
            stream.write(part)
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(0) from None


def show_bytes(parts: Iterable[bytes]) -> None:
    _write(parts)


def show_text(text: str) -> None:
    _write([text.encode("utf-8", "replace")])


def dumps(value: Any) -> str:
    """JSON in which nothing can move a terminal's cursor."""
    return escape_json(orjson.dumps(value, default=_jsonable, option=_JSON_OPTIONS).decode())


def _jsonable(value: Any) -> Any:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f")) if value.is_finite() else None
    if isinstance(value, int):
        return orjson.Fragment(str(value))
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, tuple):
        return list(value)
    return str(value)


def _json(answer: Answer) -> Iterator[bytes]:
    if answer.single:
        yield from _ndjson(answer)
        return
    separator = "["
    for row in answer.dicts():
        yield f"{separator}{dumps(row)}".encode()
        separator = ",\n "
    yield b"[]\n" if separator == "[" else b"]\n"


def _ndjson(answer: Answer) -> Iterator[bytes]:
    for row in answer.dicts():
        yield f"{dumps(row)}\n".encode()


def _csv(answer: Answer) -> Iterator[bytes]:
    import csv
    from io import StringIO

    clean = plain if sys.stdout.isatty() else str
    for row in [answer.columns, *answer.rows]:
        line = StringIO()
        csv.writer(line, lineterminator="\n").writerow([clean(_text(cell)) for cell in row])
        yield line.getvalue().encode()


def _markdown(answer: Answer) -> Iterator[bytes]:
    yield _markdown_row(answer.columns)
    yield _markdown_row(["---"] * len(answer.columns))
    for row in answer.rows:
        yield _markdown_row(row)


def _markdown_row(cells: Iterable[Any]) -> bytes:
    texts = (plain(_text(cell)).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(texts)} |\n".encode()


def _table(answer: Answer, *, indent: int = 0) -> Iterator[bytes]:
    from varvite.cli.table import fields, table

    rows = [[_cut(plain(_brief(cell))) for cell in row] for row in answer.rows[:ROWS_MAX]]
    columns = [plain(name) for name in answer.columns]
    if answer.single:
        yield fields(columns, rows[0]).encode()
        return
    numeric = [_numeric(answer.rows, place) for place in range(len(columns))]
    yield table(columns, rows, numeric, indent=indent).encode()
    yield _footer(len(answer.rows)).encode()


def _footer(rows: int) -> str:
    counted = "1 row" if rows == 1 else f"{rows} rows"
    more = f", the first {ROWS_MAX} shown; --format csv gives all" if rows > ROWS_MAX else ""
    return f"{counted}{more}\n"


def _cut(text: str) -> str:
    return text if len(text) <= CELL_CHARS_MAX else f"{text[: CELL_CHARS_MAX - 1]}…"


def _numeric(rows: Sequence[Sequence[Any]], place: int) -> bool:
    values = [row[place] for row in rows if row[place] is not None]
    return bool(values) and all(_is_number(value) for value in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _brief(value: Any) -> str:
    """A cell for people: counts as words, a number no longer than it says something."""
    if isinstance(value, dict) and value and all(_is_number(one) for one in value.values()):
        return ", ".join(f"{name} {_brief(one)}" for name, one in value.items() if one)
    return f"{value:.6g}" if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    """A cell as text, exact; empty for NULL."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, int | float | Decimal):
        return str(value)
    return dumps(value)


_TEXT: dict[str, Callable[[Answer], Iterator[bytes]]] = {
    "table": _table,
    "json": _json,
    "ndjson": _ndjson,
    "csv": _csv,
    "markdown": _markdown,
}
