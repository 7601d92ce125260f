"""What the loop knows between two calls: settings, a measurement, an intent, the last runs.

Entries of a fixed number, each overwritten: nothing grows with the history.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from varvite.experiment import ledger, trend
from varvite.experiment.trend import text_of
from varvite.session.kind import Entry, Read

LOOP, RECENT = "experiment_loop", "experiment_recent"
MEASURED, INTENDED, ABANDONED = "run_measured", "log_intended", "log_abandoned"
RECENT_MAX = 50
TEXT_CHARS_MAX = 300
_ASI = ("hypothesis", "next_action_hint", "rollback_reason", "assumption", "overturns")


def fold(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    """The loop's index entries of one record; takes whatever the contracts let through."""
    handler = _FOLDS.get((record["stream"], str(record.get("type"))))
    if handler:
        yield from handler(record, read)
    yield from trend.fold(record, read)


def settings(read: Read) -> dict[str, Any]:
    """What the config records said beyond the metric; empty where there was none."""
    return _stored(read, "settings") or {}


def measured(read: Read) -> dict[str, Any] | None:
    """The last measurement, if it was not logged yet."""
    return _stored(read, MEASURED)


def intent(read: Read) -> dict[str, Any] | None:
    """What a log call set out to do, if it is not known to have ended."""
    return _stored(read, INTENDED)


def recent(read: Read, ordinal: int, runs: int) -> list[dict[str, Any]]:
    """The last runs that count, the newest last. One lookup each, RECENT_MAX at most."""
    numbers = range(ordinal - min(runs, RECENT_MAX) + 1, ordinal + 1)
    found = (read(RECENT, str(number % RECENT_MAX)) for number in numbers)
    return [_patched(orjson.loads(value), read) for value in found if value]


def _patched(run: dict[str, Any], read: Read) -> dict[str, Any]:
    """The run with what patches said of its commit and description."""
    said = ledger.patched(read, run["seq"]) if "seq" in run else {}
    told = {name: said[name] for name in ("commit", "description") if name in said}
    return run | {name: _cut(text_of(value)) for name, value in told.items()}


def _fold_config(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    payload = record.get("payload")
    given = payload if isinstance(payload, dict) and not record.get("source") else {}
    yield LOOP, "settings", orjson.dumps(settings(read) | given | {"configured": True})


def _fold_event(record: dict[str, Any], _read: Read) -> Iterator[Entry]:
    payload = record.get("payload")
    if isinstance(payload, dict):
        yield LOOP, record["type"], orjson.dumps(payload)


def _fold_abandoned(_record: dict[str, Any], _read: Read) -> Iterator[Entry]:
    yield LOOP, INTENDED, b"null"


def _fold_run(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    payload = record.get("payload")
    held: dict[str, Any] = payload if isinstance(payload, dict) else {}
    if isinstance(ordinal := record.get("ordinal"), int):
        yield RECENT, str(ordinal % RECENT_MAX), orjson.dumps(_brief(record, held))
    open_intent = intent(read)
    if open_intent and open_intent.get("run_id") == record["id"]:
        yield LOOP, INTENDED, b"null"
        yield LOOP, MEASURED, b"null"


def _brief(record: dict[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    asi = payload.get("asi")
    names = ("seq", "ordinal", "id", "segment", "status", "metric", "commit")
    row = {name: record.get(name) for name in names}
    row["description"] = _cut(record.get("description"))
    row["change"] = text_of(payload.get("change"))
    return row | {name: _cut(text_of(asi.get(name))) for name in _ASI if isinstance(asi, dict)}


def _cut(text: Any) -> str | None:
    return text[:TEXT_CHARS_MAX] if isinstance(text, str) else None


def _stored(read: Read, key: str) -> dict[str, Any] | None:
    value = read(LOOP, key)
    found = orjson.loads(value) if value else None
    return found if isinstance(found, dict) else None


_FOLDS = {
    ("records", "config"): _fold_config,
    ("records", "run"): _fold_run,
    ("events", MEASURED): _fold_event,
    ("events", INTENDED): _fold_event,
    ("events", ABANDONED): _fold_abandoned,
}
