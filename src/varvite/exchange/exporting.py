"""An experiment session as other tools have it: pi's log, Fusion's rows, CSV, Parquet.

Nothing is locked, and the session is taken as it stood when the export began.
"""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import orjson

from varvite import ids
from varvite.adapters import fusion_rows, pi_export
from varvite.disk.files import Files, Folder, storing
from varvite.errors import InputError, NotFoundError, StorageError
from varvite.exchange import history
from varvite.experiment.mirroring import ROW_READ
from varvite.session.identity import check_kind
from varvite.session.reader import Reader

if TYPE_CHECKING:
    from varvite.query.result import Result

Form = Literal["pi", "fusion", "csv", "parquet"]
DATABASES = (".db", ".sqlite", ".sqlite3")
"""Names that end so are SQLite files; of any other name Fusion's rows are JSON lines."""


class Asked(Protocol):
    """What a store is to this module."""

    path: str
    files: Files

    def sql(
        self,
        query: str,
        params: list[Any] | None = None,
        *,
        as_of: int | None = None,
        sessions: list[str] | None = None,
    ) -> "Result": ...


@dataclass(frozen=True, slots=True)
class Exported:
    """cursor: the session's as it was exported."""

    session_id: str
    form: Form
    output: str
    bytes: int
    cursor: int


def export(store: Asked, session_id: str, form: Form, output: str) -> Exported:
    """Put a session into a file, which is whole or not there; one of that name is replaced.

    Raises:
        SessionNotFoundError, NotFoundError, CorruptError, StorageError
        InputError: no experiment session, or no such form.
    """
    target = os.path.abspath(output)
    _check_folder(target)
    with _opened(store, session_id) as reader, storing(f"writing {output}"):
        with _replacing(target) as path:
            if form == "fusion" and target.endswith(DATABASES):
                _database(path, *_fusion(store, reader))
            else:
                with open(path, "wb") as file:
                    file.writelines(_chunks(store, reader, form))
        return Exported(session_id, form, target, os.path.getsize(target), reader.cursor)


def _check_folder(target: str) -> None:
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise StorageError(
            f"writing {target}: there is no folder {folder}",
            hint="make that folder, or name a file in one that is there",
            errno=errno.ENOENT,
        )


def _database(
    path: str, sessions: Iterable[dict[str, Any]], records: Iterable[dict[str, Any]]
) -> None:
    try:
        fusion_rows.write_database(path, sessions, records)
    except sqlite3.Error as error:
        raise StorageError(f"writing {path}: {error}") from error


def chunks(store: Asked, session_id: str, form: Form) -> Iterator[bytes]:
    """The bytes of an export; raises as `export`."""
    with _opened(store, session_id) as reader:
        yield from _chunks(store, reader, form)


def _chunks(store: Asked, reader: Reader, form: Form) -> Iterator[bytes]:
    maker = _FORMS.get(form)
    if maker is None:
        raise InputError(f"form {str(form)[:80]!r}", hint=f"one of {', '.join(_FORMS)}")
    return maker(store, reader)


@contextmanager
def _opened(store: Asked, session_id: str) -> Iterator[Reader]:
    try:
        folder = Folder(store.files, store.path)
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"there is no store at {store.path}") from None
    with folder, Reader(folder, session_id) as reader:
        check_kind(session_id, reader.identity.kind, "experiment")
        yield reader


@contextmanager
def _replacing(target: str) -> Iterator[str]:
    """A path beside the target that takes its place when the block ends well."""
    folder, name = os.path.split(target)
    path = os.path.join(folder, f".{name}.{ids.uid()[:8]}.tmp")
    try:
        yield path
        os.replace(path, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


def _pi(_store: Asked, reader: Reader) -> Iterator[bytes]:
    for record, patch in history.told(reader):
        yield pi_export.line(record, patch)


def _fusion_lines(store: Asked, reader: Reader) -> Iterator[bytes]:
    sessions, records = _fusion(store, reader)
    for table, rows in ((fusion_rows.SESSIONS, sessions), (fusion_rows.RECORDS, records)):
        for row in rows:
            yield orjson.dumps({"table": table} | row, option=orjson.OPT_APPEND_NEWLINE)


def _fusion(
    store: Asked, reader: Reader
) -> tuple[Iterable[dict[str, Any]], Iterator[dict[str, Any]]]:
    ask = partial(store.sql, sessions=[reader.identity.id], as_of=reader.cursor)
    (view,) = ask("from experiment_sessions").dicts()
    read = ask(
        "select seq, payload from events where type = ? order by seq desc limit 1", [ROW_READ]
    ).dicts()
    imported = orjson.loads(read[0]["payload"])["row"] if read else None
    unchanged = bool(read) and read[0]["seq"] == reader.cursor
    row = fusion_rows.session_row(view, imported, unchanged=unchanged)
    made = (fusion_rows.record_row(row["id"], *told) for told in history.told(reader))
    return [row], (one for one in made if one)


def _runs(store: Asked, reader: Reader) -> "Result":
    only, text = [reader.identity.id], "from runs order by seq"
    return store.sql(text, sessions=only, as_of=reader.cursor)


def _csv(store: Asked, reader: Reader) -> Iterator[bytes]:
    from varvite.query import files

    yield from files.csv(_runs(store, reader))


def _parquet(store: Asked, reader: Reader) -> Iterator[bytes]:
    from varvite.query import files

    yield files.parquet(_runs(store, reader).arrow())


_FORMS: dict[str, Callable[[Asked, Reader], Iterator[bytes]]] = {
    "pi": _pi,
    "fusion": _fusion_lines,
    "csv": _csv,
    "parquet": _parquet,
}
