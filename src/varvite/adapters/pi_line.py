"""One line of pi-autoresearch's log: what it means, by the rules of pi's own reader.

Where pi guesses (an unknown status is a keep, a metric that is no number is 0)
we keep null or `unknown` and the line itself; `as_pi` gives pi's guess back.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from varvite import clock
from varvite.adapters.lines import Line
from varvite.adapters.quarantine import UnreadableError
from varvite.disk import strict_json
from varvite.errors import LimitError, MalformedInputError
from varvite.records.limits import check
from varvite.records.outcomes import METRIC_STATES, STATUSES, measured

PI_STATUSES = frozenset({"keep", "discard", "crash", "checks_failed"})
BESIDE = "varvite"
"""The key under which our own export says what pi has no word for."""

_DIRECTIONS = {"lower": "minimize", "higher": "maximize"}
_COLUMNS = {
    "config": {"type", "name", "metricName", "metricUnit", "bestDirection", "direction"},
    "hook": {"type"},
    "finalize": {"type"},
    "run": {
        "run",
        "commit",
        "metric",
        "metrics",
        "status",
        "description",
        "timestamp",
        "confidence",
    },
}
_TELLING = frozenset({"metric", "status"})
"""What a line of type run has that a fork gave no number: one at least."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_BELOW = 1e11
"""A timestamp under this counts seconds: as milliseconds it would lie before 1973-03-03."""
_DIGITS_MAX = 400


def decoded(line: Line, source: str, defaults: dict[str, str]) -> dict[str, Any]:
    """The JSON object of a line, as pi reads JSON; `defaults` takes where that is lax.

    Raises:
        UnreadableError
    """
    try:
        value = strict_json.loads(line.data, file=source, line=line.number)
    except MalformedInputError as error:
        value = _last_wins(line.data, error.message)
        defaults["line"] = f"read as pi does, though {error.message}"
    if not isinstance(value, dict):
        raise UnreadableError("not_an_object", f"a JSON {type(value).__name__}")
    return value


def _last_wins(data: bytes, reason: str) -> Any:
    """A line that is JSON to pi, though it has a key twice or a number beyond all bounds."""
    try:
        return _PI_DECODER.decode(data.decode())
    except UnicodeDecodeError:
        raise UnreadableError("not_utf8", reason) from None
    except (ValueError, RecursionError):
        raise UnreadableError("malformed", reason) from None


def lax(raw: str) -> Any:
    """A line that was read before, as pi reads JSON."""
    return _PI_DECODER.decode(raw)


def reserved(kind: str) -> set[str]:
    """The keys that mean something to the reader of a line of this kind."""
    return _COLUMNS[kind] | {BESIDE, "type", "run"}


def record_of(entry: dict[str, Any], raw: str, defaults: dict[str, str]) -> dict[str, Any]:
    """The record that a line is; `defaults` takes each value that the line had not.

    Raises:
        UnreadableError: neither a config, nor a run, nor a hook.
    """
    kind = _kind(entry)
    fields = _FIELDS[kind](entry, defaults)
    taken = _COLUMNS[kind] | {BESIDE}
    rest = {key: value for key, value in entry.items() if key not in taken} | _said(
        entry, "payload"
    )
    payload = storable(rest, "payload", defaults) or None
    return {"stream": "records", "type": kind, **fields, "payload": payload, "raw": raw}


def _said(entry: dict[str, Any], *path: str) -> dict[str, Any]:
    """An object that our own export put beside pi's keys; empty where there is none."""
    value: Any = entry
    for name in (BESIDE, *path):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _kind(entry: dict[str, Any]) -> str:
    kind = _pi_kind(entry)
    if kind is None and entry.get("type") == "finalize":
        return "finalize"
    if kind is None and entry.get("type") == "run" and not entry.keys().isdisjoint(_TELLING):
        return "run"
    if kind is None:
        raise UnreadableError("unknown_shape", f"keys {', '.join(entry)[:200]}")
    return kind


def _pi_kind(entry: dict[str, Any]) -> str | None:
    """What a line is to pi itself; None where it is nothing."""
    if entry.get("type") == "config":
        return "config"
    if _is_number(entry.get("run")):
        return "run"
    return "hook" if entry.get("type") == "hook" else None


def _config(entry: dict[str, Any], defaults: dict[str, str]) -> dict[str, Any]:
    return {
        "name": _text(entry, "name", defaults, "the one before"),
        "metric_name": _text(entry, "metricName", defaults, "the one before"),
        "metric_unit": _text(entry, "metricUnit", defaults, "the one before"),
        "direction": direction_of(entry, defaults),
    }


def direction_of(entry: dict[str, Any], defaults: dict[str, str]) -> str:
    """`bestDirection`, or the `direction` that a fork writes in its place."""
    logged = entry.get("bestDirection", entry.get("direction"))
    if not isinstance(logged, str) or logged not in _DIRECTIONS:
        defaults["bestDirection"] = "lower"
        return "minimize"
    return _DIRECTIONS[logged]


def _run(entry: dict[str, Any], defaults: dict[str, str]) -> dict[str, Any]:
    metric, state = measured(entry.get("metric"))
    if state == "missing" and _said(entry).get("metric_state") in METRIC_STATES:
        state = _said(entry)["metric_state"]
    if metric is None:
        defaults["metric"] = f"null, as it is {state}"
    return {
        "run_logged": measured(entry.get("run"))[0],
        "status": _status(entry, defaults),
        "status_raw": _text(entry, "status", defaults, "unknown"),
        "metric": metric,
        "metric_state": state,
        "metrics": _metrics(entry, defaults),
        "commit": _text(entry, "commit", defaults, "null"),
        "description": _text(entry, "description", defaults, "null"),
        "confidence": measured(entry.get("confidence"))[0],
        "logged_at": moment(entry, defaults),
    }


def _hook(_entry: dict[str, Any], _defaults: dict[str, str]) -> dict[str, Any]:
    return {}


def _status(entry: dict[str, Any], defaults: dict[str, str]) -> str:
    logged = _said(entry).get("status", entry.get("status"))
    if isinstance(logged, str) and logged in STATUSES:
        return logged
    defaults["status"] = "unknown"
    return "unknown"


def _metrics(entry: dict[str, Any], defaults: dict[str, str]) -> dict[str, float] | None:
    logged = entry.get("metrics")
    if not isinstance(logged, dict):
        defaults["metrics"] = "null"
        return None
    numbers = {name: measured(value)[0] for name, value in logged.items()}
    for name in (name for name, number in numbers.items() if number is None):
        defaults[f"metrics.{name}"] = "left out, as it is not a finite number"
    finite = {name: number for name, number in numbers.items() if number is not None}
    kept: dict[str, float] | None = storable(finite, "metrics", defaults)
    return kept


def moment(entry: dict[str, Any], defaults: dict[str, str]) -> str | None:
    number = measured(entry.get("timestamp"))[0]
    if number is None or number <= 0:
        defaults["timestamp"] = "null"
        return None
    if number < _SECONDS_BELOW:
        defaults["timestamp"] = "read as seconds"
        number *= 1000
    try:
        return clock.format_utc(_EPOCH + timedelta(milliseconds=number))
    except OverflowError:
        defaults["timestamp"] = "null"
        return None


def _text(entry: dict[str, Any], key: str, defaults: dict[str, str], default: str) -> str | None:
    value = entry.get(key)
    if not isinstance(value, str):
        defaults[key] = default
        return None
    text: str | None = storable(value, key, defaults)
    return text


def storable(value: Any, name: str, defaults: dict[str, str]) -> Any:
    """The value, or null where no record may hold it; the raw line has it still."""
    try:
        check(value, name)
    except LimitError as error:
        defaults[name] = f"null, as {error.message}"
        return None
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_pi(record: dict[str, Any]) -> dict[str, Any]:
    """An imported record as pi itself reads its line. The metric may be infinite.

    What pi passes over is no longer one of stream `records`.
    """
    entry = lax(record["raw"])
    if _pi_kind(entry) != record["type"]:
        return record | {"stream": "quarantine", "type": "unread"}
    if record["type"] == "config":
        higher = entry.get("bestDirection") == "higher"
        return record | {"direction": "maximize" if higher else "minimize"}
    if record["type"] == "run":
        status, metric = entry.get("status"), entry.get("metric")
        known = isinstance(status, str) and status in PI_STATUSES
        number = _overflowing(metric) if _is_number(metric) else 0.0
        return record | {"status": status if known else "keep", "metric": number}
    return record


def _overflowing(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _DIGITS_MAX else float(digits)


def _no_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON")


_PI_DECODER = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)
_FIELDS = {"config": _config, "run": _run, "hook": _hook, "finalize": _hook}
