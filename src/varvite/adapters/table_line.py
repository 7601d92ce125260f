"""One line of a table of results: which cell says what, and what it says."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from varvite import clock
from varvite.adapters.lines import Line
from varvite.adapters.pi_line import decoded, moment, storable
from varvite.adapters.quarantine import UnreadableError
from varvite.disk.strict_json import BOM
from varvite.errors import InputError, MalformedInputError
from varvite.records.outcomes import STATUSES, measured

FIELDS = ("metric", "status", "commit", "description", "run", "timestamp")
SECONDARY = "metrics."
KARPATHY = {
    "metric": "val_bpb",
    "status": "status",
    "commit": "commit",
    "description": "description",
    "metrics.memory_gb": "memory_gb",
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NOTHING = frozenset({"", "-", "n/a", "na", "none", "null"})
_NOT_FINITE = {"nan": float("nan"), "inf": float("inf"), "infinity": float("inf")}


@dataclass(frozen=True, slots=True)
class Table:
    """names: of the columns, as the header has them or by number. places: from 0, by field."""

    header: bool
    names: list[str]
    places: dict[str, int]
    statuses: dict[str, str]

    @property
    def metric_name(self) -> str:
        place = self.places["metric"]
        return self.names[place] if self.header and place < len(self.names) else "metric"

    def run(self, line: Line, where: str, defaults: dict[str, str]) -> dict[str, Any]:
        """The run that a line tells; `defaults` takes what is not there in a usable form.

        Raises:
            UnreadableError: the metric's cell is missing, or no number.
        """
        row = cells(line)
        rest = {"payload": storable(self._rest(row), "payload", defaults)}
        return self.told(row, where, defaults) | rest

    def told(
        self, row: Sequence[str | None], where: str, defaults: dict[str, str]
    ) -> dict[str, Any]:
        """What the cells say of a run; raises as `run`."""
        metric, state = measured(self._number(row, "metric", where))
        if metric is None:
            defaults["metric"] = f"null, as it is {state}"
        return {
            "stream": "records",
            "type": "run",
            "run_logged": self._optional(row, "run", where, defaults),
            "metric": metric,
            "metric_state": state,
            "metrics": self._secondary(row, where, defaults),
            **self._status(row, defaults),
            **{name: self._text(row, name) for name in ("commit", "description")},
            "logged_at": self._moment(row, defaults),
        }

    def column(self, field: str) -> str:
        """How a field's column is called in a message: by its number from 1."""
        return str(self.places[field] + 1)

    def _text(self, row: Sequence[str | None], field: str) -> str | None:
        place = self.places.get(field)
        return row[place] if place is not None and place < len(row) else None

    def _number(self, row: Sequence[str | None], field: str, where: str) -> float | None:
        text = self._text(row, field)
        column = self.column(field)
        if text is None:
            raise UnreadableError("unknown_shape", f"{where}:{column}: no cell for {field}")
        plain = text.strip().lower()
        if plain in _NOTHING:
            return None
        if (name := plain.lstrip("+-")) in _NOT_FINITE:
            return _NOT_FINITE[name]
        if not _NUMBER.fullmatch(plain):
            raise UnreadableError("malformed", f"{where}:{column}: {text[:80]!r} is no number")
        return float(plain)

    def _optional(
        self, row: Sequence[str | None], field: str, where: str, defaults: dict[str, str]
    ) -> float | None:
        """A number that a row can do without."""
        if field not in self.places:
            return None
        try:
            return measured(self._number(row, field, where))[0]
        except UnreadableError as fault:
            defaults[field] = f"null, as {fault.reason}"
            return None

    def _secondary(
        self, row: Sequence[str | None], where: str, defaults: dict[str, str]
    ) -> dict[str, float] | None:
        fields = [field for field in self.places if field.startswith(SECONDARY)]
        found = {field: self._optional(row, field, where, defaults) for field in fields}
        return {
            field.removeprefix(SECONDARY): number
            for field, number in found.items()
            if number is not None
        } or None

    def _status(self, row: Sequence[str | None], defaults: dict[str, str]) -> dict[str, Any]:
        raw = self._text(row, "status")
        word = (raw or "").strip().lower()
        word = self.statuses.get(word, word)
        if word not in STATUSES:
            defaults["status"] = word = "unknown"
        return {"status": word, "status_raw": raw}

    def _moment(self, row: Sequence[str | None], defaults: dict[str, str]) -> str | None:
        """An epoch in seconds or milliseconds, or ISO 8601; without a zone it is UTC."""
        text = (self._text(row, "timestamp") or "").strip()
        if not text:
            return None
        if _NUMBER.fullmatch(text):
            return moment({"timestamp": float(text)}, defaults)
        try:
            found = datetime.fromisoformat(text)
            return clock.format_utc(found if found.tzinfo else found.replace(tzinfo=UTC))
        except (ValueError, OverflowError):
            defaults["timestamp"] = "null"
            return None

    def _rest(self, row: list[str]) -> dict[str, str] | None:
        """The cells that no field took, by the name of their column."""
        taken = set(self.places.values())
        named = dict(enumerate(self.names))
        rest = {
            named.get(place, str(place + 1)): cell
            for place, cell in enumerate(row)
            if place not in taken
        }
        return rest or None


@dataclass(frozen=True, slots=True)
class JsonTable:
    """Objects, one a line. keys: by field, the first of them that an object has."""

    keys: dict[str, list[str]]
    cells: Table
    header: bool = False
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Mapping[str, str | int], statuses: dict[str, str]) -> "JsonTable":
        places = {field: place for place, field in enumerate(columns)}
        keys = {field: str(column).split("|") for field, column in columns.items()}
        labels = [*map(str, columns.values())]
        return cls(keys, _Keyed(header=False, names=labels, places=places, statuses=statuses))

    @property
    def metric_name(self) -> str:
        return self.keys["metric"][0]

    def run(self, line: Line, where: str, defaults: dict[str, str]) -> dict[str, Any]:
        """The run that a line tells; see `Table.run`.

        Raises:
            UnreadableError: no object, or its metric is missing, or no number.
        """
        entry = decoded(line, where, defaults)
        found = {
            field: next((key for key in keys if key in entry), None)
            for field, keys in self.keys.items()
        }
        row = [None if key is None else _cell(entry[key]) for key in found.values()]
        rest = {key: value for key, value in entry.items() if key not in found.values()}
        payload = storable(rest, "payload", defaults) or None
        return self.cells.told(row, where, defaults) | {"payload": payload}


class _Keyed(Table):
    def column(self, field: str) -> str:
        return f"$.{self.names[self.places[field]]}"


def _cell(value: Any) -> str:
    """A value as a table would have it; whether something was kept is told by true and false."""
    if isinstance(value, bool):
        return "keep" if value else "discard"
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def cells(line: Line) -> list[str]:
    """The cells of a line.

    Raises:
        UnreadableError
    """
    try:
        text = line.data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise UnreadableError("not_utf8", str(error)) from None
    return text.removesuffix("\r").split("\t")


def table(
    first: Line,
    file: str,
    columns: Mapping[str, str | int],
    statuses: Mapping[str, str],
) -> "Table | JsonTable":
    """What the first line says of a table: whether it is a header, and where what is told stands.

    A table whose first line is an object is one of JSON lines, whose keys are the columns.

    Raises:
        InputError: a field or status that is none of ours.
        MalformedInputError: .file .line, where the columns are not there.
    """
    _check(columns, statuses)
    words = {word.lower(): status for word, status in statuses.items()}
    if columns and first.data.lstrip().startswith(b"{"):
        return JsonTable.of(columns, words)
    try:
        row = [cell.strip() for cell in cells(first)]
    except UnreadableError as fault:
        raise MalformedInputError(
            f"{file}:{first.number}: {fault.reason}", file=file, line=first.number
        ) from None
    wanted = columns or KARPATHY
    places = {field: _place(row, column) for field, column in wanted.items()}
    missing = [str(wanted[field]) for field, place in places.items() if place is None]
    if missing:
        tabs = "" if len(row) > 1 else "; between cells there are tabs, and here is none"
        raise MalformedInputError(
            f"{file}:{first.number}: no column {', '.join(missing)[:200]}",
            hint=f"the columns are {', '.join(row)[:300]}; without a header, number them from 1"
            + tabs,
            file=file,
            line=first.number,
        )
    found = {field: place for field, place in places.items() if place is not None}
    header = not _numbered(wanted) or not _is_value(row, found["metric"])
    names = row if header else [str(number) for number in range(1, len(row) + 1)]
    return Table(header, _distinct(names), found, words)


def _check(columns: Mapping[str, str | int], statuses: Mapping[str, str]) -> None:
    for field in columns:
        if field not in FIELDS and not (field.startswith(SECONDARY) and field != SECONDARY):
            raise InputError(
                f"columns: {field[:80]!r}", hint=f"one of {', '.join(FIELDS)}, {SECONDARY}NAME"
            )
    if columns and "metric" not in columns:
        raise InputError("columns: none says the metric", hint="metric=COLUMN")
    for word, status in statuses.items():
        if status not in STATUSES:
            raise InputError(
                f"statuses: {word[:80]}={status[:80]}", hint=f"one of {', '.join(STATUSES)}"
            )


def _place(row: list[str], column: str | int) -> int | None:
    if isinstance(column, str) and column in row:
        return row.index(column)
    number = int(column) if str(column).isascii() and str(column).isdigit() else 0
    return number - 1 if number else None


def _numbered(columns: Mapping[str, str | int]) -> bool:
    return all(str(column).isdigit() for column in columns.values())


def _is_value(row: list[str], place: int) -> bool:
    """Whether a cell of the first line is one of a metric rather than a column's name."""
    plain = row[place].lower() if place < len(row) else ""
    known = plain in _NOTHING or plain.lstrip("+-") in _NOT_FINITE
    return known or bool(_NUMBER.fullmatch(plain))


def _distinct(names: list[str]) -> list[str]:
    """The names, of which a second one of a kind, or an empty one, has its number."""
    made: list[str] = []
    for number, name in enumerate(names, 1):
        made.append(f"{name}_{number}" if not name or name in made else name)
    return made
