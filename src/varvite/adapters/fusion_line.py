"""One row of Fusion's `experiment_session_records`: what it means to a session of ours."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from varvite import clock, ids
from varvite.adapters.fusion_rows import WRITER, own_id
from varvite.adapters.pi_line import storable
from varvite.adapters.quarantine import UnreadableError
from varvite.disk import strict_json
from varvite.errors import InvalidIdError, MalformedInputError
from varvite.records.outcomes import DIRECTIONS, STATUSES, measured

_TYPES = ("config", "run", "hook", "finalize")
_COUNTED = ("status", "primaryMetric")
"""What baseline, best and kept go by: no patch can say it anew."""


def opening(session: Mapping[str, Any]) -> dict[str, Any]:
    """A config with what a session measures, as its own row says."""
    name = session.get("name")
    named = {"name": name if isinstance(name, str) else None}
    return {"stream": "records", "type": "config", "writer": WRITER} | named | metric(session)


def metric(session: Mapping[str, Any]) -> dict[str, Any]:
    """The definition in a row's `metric`; what is not in it stays out."""
    told = _object(session.get("metric")) or {}
    names = {"metric_name": "name", "metric_unit": "unit", "direction": "direction"}
    texts = {field: told.get(name) for field, name in names.items()}
    fits = {field: text for field, text in texts.items() if isinstance(text, str)}
    if fits.get("direction") not in DIRECTIONS:
        fits.pop("direction", None)
    return fits


def record_of(
    row: Mapping[str, Any], session: Mapping[str, Any], generation: int, defaults: dict[str, str]
) -> dict[str, Any]:
    """The record that a row is; `defaults` takes each value that the row had not.

    Its segment is the row's. In a later reading those numbers are used up, and a config
    opens the next one.

    Raises:
        UnreadableError
    """
    payload = _payload(row)
    kind = row["type"]
    if kind not in _TYPES:
        raise UnreadableError("unknown_shape", f"type {str(kind)[:80]!r}")
    fields = {"run": _run, "config": _config}.get(kind, _nothing)(payload, session, defaults)
    return {
        "stream": "records",
        "type": kind,
        "id": _id(row, generation),
        **({"segment": _segment(row)} if generation == 1 else {}),
        "logged_at": _moment(row["createdAt"], defaults),
        "writer": WRITER,
        "payload": storable(payload, "payload", defaults) or None,
        **fields,
    }


def payload_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The payload; None where it is no object."""
    try:
        return _payload(row)
    except UnreadableError:
        return None


def patch(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """What merged over `before` gives `now`; None where no merge can, or may."""
    changed = {
        name: value for name, value in now.items() if name not in before or before[name] != value
    }
    merges = before.keys() <= now.keys() and not any(name in changed for name in _COUNTED)
    return changed if merges else None


def _payload(row: Mapping[str, Any]) -> dict[str, Any]:
    for name, cell in row.items():
        if isinstance(cell, dict):
            raise UnreadableError("not_utf8", f"{name} is no UTF-8 text")
    text = row["payload"]
    if not isinstance(text, str):
        raise UnreadableError("malformed", "payload is no text")
    try:
        value = strict_json.loads(text.encode("utf-8", "surrogatepass"), file="payload")
    except MalformedInputError as error:
        raise UnreadableError("malformed", error.message) from None
    if not isinstance(value, dict):
        raise UnreadableError("not_an_object", f"payload is a JSON {type(value).__name__}")
    return value


def _id(row: Mapping[str, Any], generation: int) -> str:
    if not isinstance(row["id"], str) or row["id"].startswith("records-"):
        raise UnreadableError("unknown_shape", "id cannot identify a record")
    try:
        return ids.record_id(own_id(row["id"], generation))
    except InvalidIdError as error:
        raise UnreadableError("unknown_shape", error.message) from None


def _segment(row: Mapping[str, Any]) -> int:
    for name in ("segment", "seq"):
        if not isinstance(row[name], int) or (name == "segment" and row[name] < 1):
            raise UnreadableError("unknown_shape", f"{name} {str(row[name])[:80]!r}")
    segment: int = row["segment"]
    return segment


def _config(
    payload: dict[str, Any], session: Mapping[str, Any], _defaults: dict[str, str]
) -> dict[str, Any]:
    name = payload.get("name")
    told = payload.get("metric")
    named = {"name": name} if isinstance(name, str) else {}
    return metric(session) | metric({"metric": told}) | named


def _run(
    payload: dict[str, Any], _session: Mapping[str, Any], defaults: dict[str, str]
) -> dict[str, Any]:
    number, state = measured(payload.get("primaryMetric"))
    if number is None:
        defaults["primaryMetric"] = f"null, as it is {state}"
    status = payload.get("status")
    known = isinstance(status, str) and status in STATUSES
    if not known:
        defaults["status"] = "unknown"
    texts = {name: payload.get(name) for name in ("commit", "description")}
    return {
        "status": status if known else "unknown",
        "status_raw": storable(status, "status", defaults) if isinstance(status, str) else None,
        "metric": number,
        "metric_state": state,
        "metrics": _secondary(payload.get("secondaryMetrics"), defaults),
        **{name: value if isinstance(value, str) else None for name, value in texts.items()},
    }


def _secondary(listed: Any, defaults: dict[str, str]) -> dict[str, float] | None:
    if not isinstance(listed, list):
        return None
    found = {}
    for place, one in enumerate(listed):
        name, value = (one.get("name"), one.get("value")) if isinstance(one, dict) else (None, None)
        number = measured(value)[0]
        if isinstance(name, str) and number is not None and math.isfinite(number):
            found[name] = number
        else:
            defaults[f"secondaryMetrics[{place}]"] = "left out, as it is no name and finite number"
    return found


def _nothing(
    _payload: dict[str, Any], _session: Mapping[str, Any], _defaults: dict[str, str]
) -> dict[str, Any]:
    return {}


def _moment(text: Any, defaults: dict[str, str]) -> str | None:
    try:
        moment = datetime.fromisoformat(text)
        return clock.format_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, TypeError, OverflowError):
        defaults["createdAt"] = "null"
        return None


def _object(text: Any) -> dict[str, Any] | None:
    if isinstance(text, dict):
        return text
    try:
        value = strict_json.loads(str(text).encode("utf-8", "surrogatepass"), file="cell")
    except MalformedInputError:
        return None
    return value if isinstance(value, dict) else None
