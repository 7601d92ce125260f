"""What jobs left behind: a folder a run, with its results and a receipt that says what they are.

A session's lie in its `checkpoints/`, those over many sessions in `_lake/checkpoints/`.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import orjson

from varvite.disk import proof
from varvite.disk.files import Folder, is_folder
from varvite.errors import CorruptError, NewerFormatError
from varvite.segments.manifest import LAKE

FOLDER = "checkpoints"
FILE = "receipt.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a stage left beside the receipt: a table, as Parquet, or a text of no rows."""

    name: str
    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StageDone:
    """sql: the statements that it ran, with the SHA-256 of each text."""

    name: str
    seconds: float
    tables: tuple[Written, ...] = ()
    sql: dict[str, str] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    texts: tuple[Written, ...] = ()


@dataclass(frozen=True, slots=True)
class Receipt:
    """One run of a job.

    session_id: None of a job over many sessions. cursors: how far each session was read.
    generation: the manifest's. rows_read, bytes_read: of segments and tails that were looked
    at. peak_memory_bytes: the process's. proposes: how many acts of each name.
    handed_in: the keys of those that were left in the inbox.
    """

    name: str
    session_id: str | None
    cursors: dict[str, int]
    generation: int
    parameters: dict[str, Any]
    engine: str
    engine_version: str
    version: str
    began: str
    status: Literal["running", "finished"] = "running"
    ended: str | None = None
    stages: tuple[StageDone, ...] = ()
    rows_read: int = 0
    bytes_read: int = 0
    peak_memory_bytes: int = 0
    proposes: dict[str, int] = field(default_factory=dict)
    handed_in: tuple[str, ...] = ()

    @property
    def rows_written(self) -> int:
        return sum(table.rows for stage in self.stages for table in stage.tables)

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    @property
    def results(self) -> dict[str, Any]:
        """What the stages found, by name; a later stage's word stands."""
        return {name: value for stage in self.stages for name, value in stage.results.items()}

    @property
    def tables(self) -> dict[str, Written]:
        return {table.name: table for stage in self.stages for table in stage.tables}

    @property
    def texts(self) -> dict[str, Written]:
        return {text.name: text for stage in self.stages for text in stage.texts}

    @property
    def files(self) -> dict[str, Written]:
        """Its tables and its texts."""
        return self.tables | self.texts

    @property
    def sql(self) -> dict[str, str]:
        return {name: sha for stage in self.stages for name, sha in stage.sql.items()}

    @property
    def cursor(self) -> int | None:
        """The cursor of the one session that it read."""
        return self.cursors.get(self.session_id) if self.session_id else None

    def with_stage(self, stage: StageDone) -> "Receipt":
        return replace(self, stages=(*self.stages, stage))


def write(folder: Folder, receipt: Receipt) -> None:
    folder.replace(FILE, proof.document({"format": FORMAT} | asdict(receipt)), sync=True)


def read(folder: Folder) -> Receipt | None:
    """The receipt in a run's folder; None where it has none yet.

    Raises:
        CorruptError, NewerFormatError
    """
    if folder.stat(FILE) is None:
        return None
    file = folder.where(FILE)
    values = proof.read_document(folder.read(FILE), file)
    if values.pop("format", FORMAT) > FORMAT:
        raise NewerFormatError(f"{file} is of a newer format", hint="upgrade varvite")
    try:
        stages = tuple(_stage(one) for one in values.pop("stages"))
        return Receipt(**values | {"stages": stages, "handed_in": tuple(values["handed_in"])})
    except (TypeError, KeyError) as error:
        raise CorruptError(f"{file} is no receipt: {error}", file=file, offset=0) from None


def _stage(values: dict[str, Any]) -> StageDone:
    written = {
        name: tuple(Written(**one) for one in values.get(name, ())) for name in ("tables", "texts")
    }
    return StageDone(**values | written)


def of_session(session: Folder) -> Iterator[tuple[str, Receipt]]:
    """The receipts of a session by folder, in the order of their cursors; damaged ones too raise.

    Raises:
        CorruptError, NewerFormatError
    """
    if session.stat(FOLDER) is None:
        return
    with session.folder(FOLDER) as runs:
        for name in runs.names():
            if is_folder(runs.stat(name)):
                with runs.folder(name) as folder:
                    receipt = read(folder)
                if receipt:
                    yield name, receipt


def rows(store: Folder, sessions: Iterable[tuple[str, int]]) -> list[tuple[Any, ...]]:
    """The rows of `catalog.checkpoints`: runs within the cursors, then those over many sessions."""
    cursors = dict(sessions)
    found = []
    for name, cursor in cursors.items():
        with suppress(FileNotFoundError), store.folder(name) as session:  # deleted meanwhile
            found += [
                _row(session, folder, receipt)
                for folder, receipt in of_session(session)
                if (receipt.cursor or 0) <= cursor
            ]
    with suppress(FileNotFoundError), store.folder(LAKE) as lake:
        found += [
            _row(lake, folder, receipt)
            for folder, receipt in of_session(lake)
            if all(seq <= cursors.get(name, -1) for name, seq in receipt.cursors.items())
        ]
    return found


def _row(owner: Folder, folder: str, receipt: Receipt) -> tuple[Any, ...]:
    return (
        receipt.session_id,
        receipt.name,
        receipt.status,
        receipt.cursor,
        _json(receipt.cursors),
        receipt.generation,
        _json(receipt.parameters),
        f"{receipt.engine} {receipt.engine_version}",
        datetime.fromisoformat(receipt.began),
        datetime.fromisoformat(receipt.ended) if receipt.ended else None,
        receipt.rows_read,
        receipt.bytes_read,
        receipt.rows_written,
        receipt.seconds,
        receipt.peak_memory_bytes,
        _json(receipt.results),
        _json(receipt.proposes),
        os.path.join(owner.path, FOLDER, folder),
    )


def _json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
