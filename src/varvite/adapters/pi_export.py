"""A session's records as lines of pi-autoresearch's log.

A line that was imported goes out byte for byte, unless a patch said more of it. A record
of our own gets the keys that pi writes, in pi's order; what pi has no key for follows.
"""

import base64
import json
from datetime import datetime
from typing import Any

from varvite.adapters.pi_line import BESIDE, PI_STATUSES, lax, reserved

_STATUSES = {"errored": "crash", "pending": "discard", "confirm": "discard", "unknown": "discard"}
"""What pi has no word for. It would read an unknown word as a keep."""

_TYPES = ("config", "run", "hook", "finalize")
_BEST = {"minimize": "lower", "maximize": "higher"}
_PATCHED = ("commit", "description")
_JSON: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":")}


def line(record: dict[str, Any], patch: dict[str, Any] | None = None) -> bytes:
    """The bytes that a record adds to the log, its newline included; of a patch, none."""
    if record["stream"] == "quarantine":
        return _set_aside(record)
    if record.get("type") not in _TYPES:
        return b""
    if record.get("source") and not record.get("writer"):
        return _imported(record.get("raw"), patch)
    return _encoded(_ENTRIES[record["type"]](record, _payload(record, patch), patch or {}))


def _set_aside(record: dict[str, Any]) -> bytes:
    """A line that could not be read, or one part of it."""
    raw: str = record["raw"]
    data = base64.b64decode(raw) if record["encoding"] == "base64" else raw.encode()
    return data if record.get("part", 1) < record.get("parts", 1) else data + b"\n"


def _imported(raw: str | None, patch: dict[str, Any] | None) -> bytes:
    if raw is None:
        return b""
    if not patch:
        return raw.encode() + b"\n"
    entry: dict[str, Any] = lax(raw)
    fixed = reserved("config" if entry.get("type") == "config" else "run") - set(_PATCHED)
    return _encoded(entry | {name: said for name, said in patch.items() if name not in fixed})


def _config(
    record: dict[str, Any], payload: dict[str, Any], _patch: dict[str, Any]
) -> dict[str, Any]:
    entry = {
        "type": "config",
        "name": record.get("name"),
        "metricName": record.get("metric_name"),
        "metricUnit": record.get("metric_unit"),
        "bestDirection": _BEST.get(str(record.get("direction")), "lower"),
    }
    return _beside(entry, payload, {}, "config")


def _run(record: dict[str, Any], payload: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    status = record.get("status") or "unknown"
    state = record.get("metric_state")
    texts = {name: record.get(name) for name in _PATCHED} | {
        name: patch[name] for name in _PATCHED if name in patch
    }
    entry = {
        "run": record["ordinal"],
        "commit": texts["commit"] or "",
        "metric": record.get("metric"),
        "metrics": record.get("metrics") or {},
        "status": status if status in PI_STATUSES else _STATUSES[status],
        "description": texts["description"] or "",
        "timestamp": _milliseconds(record.get("logged_at") or record["at"]),
        "segment": record["segment"] - 1,
        "confidence": record.get("confidence"),
    }
    if payload.get("asi"):
        entry["asi"] = payload["asi"]
    said: dict[str, Any] = {} if status in PI_STATUSES else {"status": status}
    if state not in (None, "finite", "missing"):
        said["metric_state"] = state
    return _beside(entry, _differing(payload, entry), said, "run")


def _hook(
    record: dict[str, Any], payload: dict[str, Any], _patch: dict[str, Any]
) -> dict[str, Any]:
    return _beside({"type": record["type"]}, payload, {}, "hook")


def _differing(payload: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """The payload without what the line says already."""
    return {
        name: value
        for name, value in payload.items()
        if not (name in entry and entry[name] == value and type(entry[name]) is type(value))
    }


def _beside(
    entry: dict[str, Any], payload: dict[str, Any], said: dict[str, Any], kind: str
) -> dict[str, Any]:
    """The line with what pi has no key for: under its own name, or where that is pi's, beside."""
    taken = reserved(kind) | entry.keys()
    free = {name: value for name, value in payload.items() if name not in taken}
    hidden = {name: value for name, value in payload.items() if name in taken}
    said = said | ({"payload": hidden} if hidden else {})
    return entry | free | ({BESIDE: said} if said else {})


def _payload(record: dict[str, Any], patch: dict[str, Any] | None) -> dict[str, Any]:
    given = record.get("payload")
    held = given if isinstance(given, dict) else {} if given is None else {"payload": given}
    return held | (patch or {})


def _milliseconds(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def _encoded(entry: dict[str, Any]) -> bytes:
    """As JavaScript writes it: no spaces, text as UTF-8, a lone surrogate as its escape."""
    return json.dumps(entry, **_JSON).encode("utf-8", "backslashreplace") + b"\n"


_ENTRIES = {"config": _config, "run": _run, "hook": _hook, "finalize": _hook}
