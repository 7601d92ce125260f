"""One experiment session of Fusion's SQLite tables, as a session of ours can follow it.

The rows are read in one transaction of a connection that cannot write. Their order is
that of `seq`; what an import has read is known by the last seq and a hash of the rows.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

from varvite import ids
from varvite.adapters import fusion_line, quarantine
from varvite.adapters.fusion_rows import RECORDS, SESSIONS
from varvite.adapters.lines import Line
from varvite.errors import BusyError, InputError, NotFoundError
from varvite.records.foreign import Defaulted, LogBatch, LogCursor

BATCH_RECORDS = 1000
OPENING = None
"""In place of a rowid: the config with which a reading begins."""

_COLUMNS = ("id", "sessionId", "segment", "seq", "type", "payload", "createdAt")
_ROWS = f"""
select rowid as "rowid", {", ".join(f'"{name}"' for name in _COLUMNS)} from {RECORDS}
where sessionId = ? order by typeof(seq) = 'integer', seq, rowid
"""  # noqa: S608  (names of columns)


class Known(NamedTuple):
    """What a session of ours has of a row: its record's seq, the cells, the payload patched."""

    seq: int
    cells: dict[str, Any]
    payload: dict[str, Any]

    def patch(self, cells: Mapping[str, Any]) -> dict[str, Any] | None:
        """What merged over this gives the row as it is; None where no merge can, or may."""
        told = fusion_line.payload_of(cells)
        same = all(cells[name] == self.cells[name] for name in _COLUMNS if name != "payload")
        return fusion_line.patch(self.payload, told) if same and told is not None else None


class _Row(NamedTuple):
    number: int
    cells: dict[str, Any]

    @property
    def data(self) -> bytes:
        return json.dumps(self.cells, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )


class _Cursor:
    """Where a reading stands: the last seq, and the rows up to it."""

    def __init__(self, generation: int, measures: Any) -> None:
        self.generation = generation
        self.seq = self.rows = 0
        self._hash = hashlib.sha256(str(measures).encode())

    def add(self, row: _Row) -> None:
        seq = row.cells["seq"]
        self.seq = seq if isinstance(seq, int) else self.seq
        self.rows += 1
        self._hash.update(row.data + b"\n")

    def place(self) -> LogCursor:
        return LogCursor(self.seq, self._hash.hexdigest(), self.rows, self.generation)


def sessions(path: str) -> list[dict[str, Any]]:
    """The rows of `experiment_sessions`, the oldest first.

    Raises:
        NotFoundError, InputError, BusyError: .file
    """
    with _opened(path) as database:
        return [row.cells for row in _asked(database, f"select rowid, * from {SESSIONS}")]  # noqa: S608


def orphans(path: str) -> int:
    """How many records belong to no session."""
    text = f"select count(*) from {RECORDS} where sessionId not in (select id from {SESSIONS})"  # noqa: S608
    with _opened(path) as database:
        count: int = database.execute(text).fetchone()[0]
    return count


class FusionLog:
    """The records of one of Fusion's sessions; see `ForeignLog`.

    row: the session's own. known: what was imported of it, by rowid, and under OPENING what it
    measured; asked only where a row has changed, to tell a patch from history that was made anew.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        row: Mapping[str, Any],
        *,
        source: str | None = None,
        known: Callable[[], Mapping[int | None, Known]] = dict,
    ) -> None:
        self.path, self.row = os.fspath(path), row
        self.source = source or os.path.basename(self.path)
        self._known = known

    def read(self, after: LogCursor | None) -> Iterator[LogBatch]:
        """The rows beyond a cursor. Reads those before it too, to compare their hash.

        Raises:
            NotFoundError, InputError, BusyError: .file
        """
        with _opened(self.path) as database:
            rows = _asked(database, _ROWS, [self.row["id"]])
            before, beyond = _cut(rows, after)
        cursor = _Cursor(after.generation if after else 1, self.row.get("metric"))
        for row in before:
            cursor.add(row)
        if after in (None, cursor.place()):
            yield from self._new(beyond, cursor, first=not before)
            return
        same = after is not None and cursor.rows == after.lines
        patches = self._patches(before) if same else None
        if patches is None:
            anew = _Cursor(cursor.generation + 1, self.row.get("metric"))
            yield from self._new([*before, *beyond], anew, first=True)
            return
        yield LogBatch(cursor.place(), records=patches)
        yield from self._new(beyond, cursor, first=False)

    def _patches(self, rows: list[_Row]) -> list[dict[str, Any]] | None:
        """Patches that make what is known what it is now; None where patches cannot."""
        known, made = self._known(), []
        opening = known.get(OPENING)
        told = fusion_line.metric(self.row)
        if opening and any(opening.payload.get(name) != told[name] for name in told):
            return None
        for row in rows:
            held = known.get(row.number)
            patch = held.patch(row.cells) if held else None
            if held is None or patch is None:
                return None
            if patch:
                made.append(_patch(held.seq, patch))
        return made

    def _new(self, rows: list[_Row], cursor: _Cursor, *, first: bool) -> Iterator[LogBatch]:
        batch = LogBatch(cursor.place())
        if first and rows:
            batch.records.append(self._opening(rows[0], cursor.generation))
        for row in rows:
            cursor.add(row)
            self._add(row, cursor.generation, batch)
            if len(batch.records) >= BATCH_RECORDS:
                batch.cursor = cursor.place()
                yield batch
                batch = LogBatch(cursor.place())
        batch.cursor = cursor.place()
        yield batch

    def _opening(self, row: _Row, generation: int) -> dict[str, Any]:
        """What is measured from the first row on, which Fusion says in the session's row."""
        segment = row.cells["segment"]
        told = generation == 1 and isinstance(segment, int) and segment > 0
        placed = {"segment": segment} if told else {}
        where = {"source": self.source, "source_line": None, "generation": generation}
        return fusion_line.opening(self.row) | placed | where

    def _add(self, row: _Row, generation: int, batch: LogBatch) -> None:
        where = {"source": self.source, "source_line": row.number, "generation": generation}
        line, defaults = Line(row.number, row.data), dict[str, str]()
        try:
            record = fusion_line.record_of(row.cells, self.row, generation, defaults)
            record |= {"raw": line.data.decode()} | where
            if quarantine.too_long(record, line.data):
                raise quarantine.UnreadableError("too_long", "a record over the limit")  # noqa: TRY301
        except quarantine.UnreadableError as fault:
            reason = f"{RECORDS} rowid {row.number}: {fault.reason}"
            said = quarantine.UnreadableError(fault.kind, reason)
            records, entry = quarantine.kept(line, said, where)
            batch.records += records
            batch.quarantined.append(entry)
        else:
            batch.records.append(record)
            batch.defaulted += [Defaulted(row.number, *one) for one in defaults.items()]


def _cut(rows: Iterator[_Row], after: LogCursor | None) -> tuple[list[_Row], list[_Row]]:
    """The rows up to a cursor, and those beyond it."""
    before: list[_Row] = []
    beyond: list[_Row] = []
    for row in rows:
        seq = row.cells["seq"]
        read = after and after.lines and (not isinstance(seq, int) or seq <= after.offset)
        (before if read else beyond).append(row)
    return before, beyond


def _patch(seq: int, payload: dict[str, Any]) -> dict[str, Any]:
    head = {"stream": "records", "type": "patch", "id": f"patch_{ids.uid()}"}
    return head | {"target_seq": seq, "payload": payload}


@contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write, in one transaction.

    Raises:
        NotFoundError, InputError, BusyError: .file
    """
    if not os.path.isfile(path):
        raise NotFoundError(f"{path}: no such database", file=path)
    try:
        database = sqlite3.connect(
            f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, isolation_level=None
        )
        try:
            database.text_factory = bytes
            database.execute("begin")
            yield database
        finally:
            database.close()
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise BusyError(f"{path}: {error}", file=path) from None
        raise InputError(f"{path}: {error}", hint="not Fusion's tables?", file=path) from None
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: {error}", file=path) from None


def _asked(
    database: sqlite3.Connection, text: str, params: list[Any] | None = None
) -> Iterator[_Row]:
    found = database.execute(text, params or [])
    names = [column[0] for column in found.description]
    for number, *cells in found:
        yield _Row(number, {name: _cell(cell) for name, cell in zip(names[1:], cells, strict=True)})


def _cell(value: Any) -> Any:
    """A cell as JSON can hold it: what is no text has its bytes as hex."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"hex": value.hex()}
