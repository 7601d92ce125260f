"""What the loop knows between two calls: settings, a measurement, an intent, the last runs.

Entries of a fixed number, each overwritten: nothing grows with the history.
"""

from typing import Any

import orjson

from varvite.experiment import ledger
from varvite.experiment.states import States
from varvite.experiment.trend import text_of
from varvite.session.kind import Read

LOOP, RECENT = "experiment_loop", "experiment_recent"
MEASURED, INTENDED, ABANDONED = "run_measured", "log_intended", "log_abandoned"
RECENT_MAX = 50
TEXT_CHARS_MAX = 300
_ASI = ("hypothesis", "next_action_hint", "rollback_reason", "assumption", "overturns")


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


def _fold_config(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    given = payload if isinstance(payload, dict) and not record.get("source") else {}
    before = states.get(LOOP, "settings", _object) or {}
    states.put(LOOP, "settings", before | given | {"configured": True})


def _fold_event(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    if isinstance(payload, dict):
        states.put(LOOP, record["type"], payload)


def _fold_abandoned(_record: dict[str, Any], states: States) -> None:
    states.put(LOOP, INTENDED, None)


def _fold_run(record: dict[str, Any], states: States) -> None:
    if isinstance(ordinal := record.get("ordinal"), int):
        states.put(RECENT, str(ordinal % RECENT_MAX), record, _brief)
    open_intent = states.get(LOOP, INTENDED, _object)
    if open_intent and open_intent.get("run_id") == record["id"]:
        states.put(LOOP, INTENDED, None)
        states.put(LOOP, MEASURED, None)


def _brief(record: dict[str, Any]) -> bytes:
    payload = record.get("payload")
    held: dict[str, Any] = payload if isinstance(payload, dict) else {}
    asi = held.get("asi")
    names = ("seq", "ordinal", "id", "segment", "status", "metric", "commit")
    row = {name: record.get(name) for name in names}
    row["description"] = _cut(record.get("description"))
    row["change"] = text_of(held.get("change"))
    if isinstance(asi, dict):
        row |= {name: _cut(text_of(asi.get(name))) for name in _ASI}
    return orjson.dumps(row)


def _cut(text: Any) -> str | None:
    return text[:TEXT_CHARS_MAX] if isinstance(text, str) else None


def _stored(read: Read, key: str) -> dict[str, Any] | None:
    value = read(LOOP, key)
    return _object(value) if value else None


def _object(value: bytes) -> dict[str, Any] | None:
    found = orjson.loads(value)
    return found if isinstance(found, dict) else None


FOLDS = {
    ("records", "config"): _fold_config,
    ("records", "run"): _fold_run,
    ("events", MEASURED): _fold_event,
    ("events", INTENDED): _fold_event,
    ("events", ABANDONED): _fold_abandoned,
}
