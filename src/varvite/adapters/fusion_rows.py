"""The rows of Fusion's two tables, as a session of ours gives them."""

import json
import re
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

SESSIONS, RECORDS = "experiment_sessions", "experiment_session_records"
WRITER = "fusion"
"""What the field `writer` says of a record that was a row of Fusion's."""

SCHEMA = f"""
create table if not exists {SESSIONS} (
    id text primary key, name text not null, projectId text, status text not null,
    metric text not null, currentSegment integer not null default 1, maxIterations integer,
    workingDir text, baselineRunId text, bestRunId text, keptRunIds text not null default '[]',
    tags text not null default '[]', metadata text, createdAt text not null,
    updatedAt text not null, finalizedAt text
);
create index if not exists idxExperimentSessionsStatus on {SESSIONS}(status);
create index if not exists idxExperimentSessionsProjectId on {SESSIONS}(projectId);
create index if not exists idxExperimentSessionsCreatedAt on {SESSIONS}(createdAt);
create table if not exists {RECORDS} (
    id text primary key,
    sessionId text not null references {SESSIONS}(id) on delete cascade,
    segment integer not null, seq integer not null, type text not null, payload text not null,
    createdAt text not null, unique(sessionId, seq)
);
create index if not exists idxExperimentSessionRecordsSegment on {RECORDS}(sessionId, segment, seq);
create index if not exists idxExperimentSessionRecordsType on {RECORDS}(sessionId, type);
"""
_OUTCOMES = frozenset({"keep", "discard", "checks_failed", "errored", "pending"})
_STATUSES = {"crash": "errored", "confirm": "pending", "unknown": "pending"}
_LATER = re.compile(r"@\d+$")


def own_id(row_id: str, generation: int) -> str:
    """The id of a row's record: the row's, and of a later reading of it another."""
    return row_id if generation == 1 else f"{row_id}@{generation}"


def session_row(
    view: dict[str, Any], imported: dict[str, Any] | None, *, unchanged: bool
) -> dict[str, Any]:
    """A row of `experiment_sessions`.

    view: the session's row of our view of that name. imported: the row that it came from,
    if it was Fusion's; the same goes out while nothing was recorded since.
    """
    if imported and unchanged:
        return imported
    row = {name: _moment(value) for name, value in view.items()}
    if imported is None:
        return row
    for name in ("baselineRunId", "bestRunId"):
        row[name] = row[name] and _LATER.sub("", row[name])
    kept = [_LATER.sub("", run) for run in json.loads(row["keptRunIds"])]
    return row | {
        "id": imported["id"],
        "createdAt": imported["createdAt"],
        "keptRunIds": _text(kept),
    }


def record_row(
    session_id: str, record: dict[str, Any], patch: dict[str, Any] | None
) -> dict[str, Any] | None:
    """A row of `experiment_session_records`; None for what is none of Fusion's types."""
    if record["stream"] != "records" or record["type"] == "patch":
        return None
    if record.get("writer") == WRITER:
        return _again(session_id, record, patch)
    if record.get("source") and record.get("source_line") is None:
        return None
    return {
        "id": record["id"],
        "sessionId": session_id,
        "segment": record["segment"],
        "seq": record["seq"],
        "type": record["type"],
        "payload": _text(_PAYLOADS.get(record["type"], _given)(record, patch or {})),
        "createdAt": _moment(record.get("logged_at") or record["at"]),
    }


def _again(
    session_id: str, record: dict[str, Any], patch: dict[str, Any] | None
) -> dict[str, Any] | None:
    if record.get("raw") is None:
        return None
    row: dict[str, Any] = json.loads(record["raw"])
    if patch:
        row["payload"] = _text(json.loads(row["payload"]) | patch)
    return row | {"sessionId": session_id}


def _given(record: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    given = record.get("payload")
    held = given if isinstance(given, dict) else {} if given is None else {"payload": given}
    return held | patch


def _config(record: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    names = {"name": "metric_name", "unit": "metric_unit", "direction": "direction"}
    metric = {name: record.get(field) for name, field in names.items()}
    return {"name": record.get("name"), "metric": metric} | _given(record, patch)


def _run(record: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Fusion's names for what a run has; its own words where the session has others."""
    metrics = record.get("metrics") or {}
    status = str(record.get("status"))
    named = {
        "primaryMetric": record.get("metric"),
        "secondaryMetrics": [{"name": name, "value": value} for name, value in metrics.items()],
        "commit": record.get("commit"),
        "description": record.get("description"),
    }
    told = {name: value for name, value in named.items() if value is not None}
    told |= _given(record, patch)
    if status in _OUTCOMES:
        return {"status": status} | told
    return told | {"status": _STATUSES.get(status, "pending"), "statusRaw": status}


def write_database(
    path: str, sessions: Iterable[dict[str, Any]], records: Iterable[dict[str, Any]]
) -> int:
    """Make a SQLite file of the rows; how many records it has.

    Raises:
        sqlite3.Error
    """
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript(SCHEMA)
        connection.execute("begin")
        _insert(connection, SESSIONS, sessions)
        count = _insert(connection, RECORDS, records)
        connection.execute("commit")
    finally:
        connection.close()
    return count


def _insert(connection: sqlite3.Connection, table: str, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007  (the count of all)
        names, places = ", ".join(row), ", ".join(f":{name}" for name in row)
        connection.execute(f"insert into {table} ({names}) values ({places})", row)  # noqa: S608
    return count


def _moment(value: Any) -> Any:
    """A moment as JavaScript writes it; anything else as it is."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text(value: Any) -> str:
    """JSON as JavaScript writes it: text as it is, a lone surrogate as its escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace").decode()


_PAYLOADS = {"config": _config, "run": _run}
