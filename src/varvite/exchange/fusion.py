"""Fusion's sessions, from its SQLite file into sessions of ours."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import orjson

from varvite import clock, ids
from varvite.adapters import fusion_log, fusion_rows
from varvite.adapters.fusion_log import FusionLog, Known
from varvite.disk.files import Files, Folder
from varvite.errors import (
    InputError,
    NotFoundError,
    RecordNotFoundError,
    SessionStatusError,
)
from varvite.exchange import history
from varvite.experiment import about
from varvite.experiment.importing import ImportReport
from varvite.experiment.mirroring import Row, Seen
from varvite.experiment.session import ExperimentSession
from varvite.experiment.status import TRANSITIONS
from varvite.session.reader import Reader
from varvite.session.taking_back import unless_refused


class Opener(Protocol):
    """What a store is to this module."""

    path: str
    files: Files

    def experiment(self, session_id: str, **options: Any) -> ExperimentSession: ...


@dataclass(frozen=True, slots=True)
class FusionReport:
    """fusion_id: the session there. dangling: pointers to what is no run here, left out.

    unread: columns of the session's own row that could not be read.
    """

    session_id: str
    fusion_id: str
    report: ImportReport
    dangling: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def import_sessions(
    store: Opener,
    path: str | os.PathLike[str],
    *,
    session_id: str | None = None,
    only: str | None = None,
    **options: Any,
) -> list[FusionReport]:
    """Take over what is new of Fusion's sessions, each into one of ours.

    session_id: of ours, where there is one there or `only` names one; else each has the id
    that Fusion gave it, in small letters. Options are those of `Store.experiment`.

    Raises:
        NotFoundError, InputError, BusyError: .file
        StateConflictError: the session has runs that are not from there.
    """
    file = os.fspath(path)
    rows = [row for row in fusion_log.sessions(file) if only in (None, row["id"])]
    if not rows:
        raise NotFoundError(f"{file}: no session {only or ''}".rstrip(), file=file)
    if session_id is not None and len(rows) > 1:
        raise InputError(
            f"{file} has {len(rows)} sessions",
            hint="name one of them, or let each have its own id",
            file=file,
        )
    return [_import(store, file, row, session_id or own_name(row["id"]), options) for row in rows]


def own_name(fusion_id: Any) -> str:
    """The id of ours for a session there.

    Raises:
        InvalidIdError
    """
    return ids.session_id(str(fusion_id).lower())


def _import(
    store: Opener, file: str, row: Mapping[str, Any], session_id: str, options: dict[str, Any]
) -> FusionReport:
    source = f"{os.path.basename(file)}#{row['id']}"
    known = partial(_known, store, session_id, source)
    log = FusionLog(file, row, source=source, known=known)
    fresh = unless_refused(store, session_id, create=options.get("create", False))
    with fresh, store.experiment(session_id, rules="fusion", **options) as session:
        report = _records(session, log, str(row.get("status")))
        made = FusionReport(session_id, str(row["id"]), report)
        seen = Seen(report.generation, dict(row))
        session.mirror(source, seen, lambda: _row(session, row, report.generation, made))
        report.cursor = session.cursor
    return made


def _records(session: ExperimentSession, log: FusionLog, there: str) -> ImportReport:
    """Import; a session that is done here, and went on there, is opened for it."""
    try:
        return session.import_log(log)
    except SessionStatusError:
        before = session.status()
        session.transition("active")
        report = session.import_log(log)
        session.transition(there if there in TRANSITIONS else before)
        return report


def _row(
    session: ExperimentSession, row: Mapping[str, Any], reading: int, made: FusionReport
) -> Row:
    pointers = {"baseline": row.get("baselineRunId"), "best": row.get("bestRunId")}
    kept = _json(row, "keptRunIds", list, made) or []
    runs = {name: str(run) for name, run in pointers.items() if run is not None}
    ours = {run: fusion_rows.own_id(str(run), reading) for run in [*runs.values(), *kept]}
    keeps = {run.id for run in session.kept()}
    there = {run: own for run, own in ours.items() if own in keeps or _is_run(session, own)}
    made.dangling.extend(str(run) for run in ours if run not in there)
    return Row(
        status=str(row.get("status")),
        finalized_at=_moment(row.get("finalizedAt"), made),
        pointers={name: there[run] for name, run in runs.items() if run in there},
        kept=[there[run] for run in kept if run in there],
        about=_about(row, made),
    )


def _is_run(session: ExperimentSession, run_id: str) -> bool:
    try:
        return bool(session.get_record(run_id)["type"] == "run")
    except RecordNotFoundError:
        return False


def _about(row: Mapping[str, Any], made: FusionReport) -> dict[str, Any]:
    told = {
        "name": row.get("name"),
        "project_id": row.get("projectId"),
        "working_dir": row.get("workingDir"),
        "max_iterations": row.get("maxIterations"),
        "tags": _json(row, "tags", list, made) or [],
        "metadata": _json(row, "metadata", dict, made),
    }
    fits = {name: value for name, value in told.items() if about.fits(name, value)}
    made.unread.extend(name for name in told if name not in fits)
    return fits


def _json(row: Mapping[str, Any], column: str, kind: type, made: FusionReport) -> Any:
    text = row.get(column)
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        value = None
    if not isinstance(value, kind):
        made.unread.append(column)
        return None
    return value


def _moment(text: Any, made: FusionReport) -> str | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        made.unread.append("finalizedAt")
        return None
    return clock.format_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _known(store: Opener, session_id: str, source: str) -> dict[int | None, Known]:
    """What the session has of each row, by rowid, and of its opening. Reads the history."""
    with Folder(store.files, store.path) as folder, Reader(folder, session_id) as reader:
        return dict(_rows(reader, source))


def _rows(reader: Reader, source: str) -> Iterator[tuple[int | None, Known]]:
    for record, patch in history.told(reader):
        if record.get("source") != source or record["stream"] != "records":
            continue
        if record.get("raw") is None:
            if record.get("writer") == fusion_rows.WRITER:
                yield fusion_log.OPENING, Known(record["seq"], {}, record)
            continue
        cells = orjson.loads(record["raw"])
        payload = orjson.loads(cells["payload"]) | (patch or {})
        yield record["source_line"], Known(record["seq"], cells, payload)
