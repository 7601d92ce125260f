"""The rows of the mission's two tables as Python has them."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_JSON = ("metric", "keptRunIds", "tags", "metadata", "payload")


@dataclass(frozen=True, slots=True)
class Session:
    """A row of `experiment_sessions`."""

    id: str
    name: str
    project_id: str | None
    status: str
    metric: dict[str, str]
    current_segment: int
    max_iterations: int | None
    working_dir: str | None
    baseline_run_id: str | None
    best_run_id: str | None
    kept_run_ids: list[str]
    tags: list[str]
    metadata: Any
    created_at: datetime
    updated_at: datetime
    finalized_at: datetime | None


@dataclass(frozen=True, slots=True)
class Record:
    """A row of `experiment_session_records`, its payload with all patches in it."""

    id: str
    session_id: str
    segment: int
    seq: int
    type: str
    payload: dict[str, Any]
    created_at: datetime


def _read_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        _snake(name): json.loads(value) if name in _JSON and value is not None else value
        for name, value in row.items()
    }


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def session(row: dict[str, Any]) -> Session:
    return Session(**_read_json(row))


def record(row: dict[str, Any]) -> Record:
    return Record(**_read_json(row))


def record_of(line: dict[str, Any], patch: dict[str, Any], session_id: str) -> Record:
    """A line of stream `records` as its row: its payload under its fields, under `patch`."""
    given = line.get("payload")
    payload = dict(given) if isinstance(given, dict) else {"payload": given} if given else {}
    fields = {_FIELDS[name]: line[name] for name in _FIELDS if line.get(name) is not None}
    for name, instead in _INSTEAD.items():
        if instead in payload:
            fields.pop(name, None)
    return Record(
        id=line["id"],
        session_id=session_id,
        segment=line["segment"],
        seq=line["seq"],
        type=line["type"],
        payload=payload | fields | patch,
        created_at=datetime.fromisoformat(line["at"]),
    )


_FIELDS = {
    "status": "status",
    "metric": "metric",
    "metrics": "metrics",
    "commit": "commit",
    "description": "description",
    "name": "name",
    "metric_name": "metricName",
    "metric_unit": "metricUnit",
    "direction": "direction",
}
_INSTEAD = {"metric": "primaryMetric", "metrics": "secondaryMetrics"}
"""Fields that are left out where the payload has them under Fusion's name."""
