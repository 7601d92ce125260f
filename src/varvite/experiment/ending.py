"""What a finalize set out to do: one index entry, by which the next open undoes or ends it."""

from typing import Any

import orjson

from varvite.experiment.ledger import STATUS_CHANGED
from varvite.experiment.states import States
from varvite.session.kind import Read

BEGAN, INTENDED = "finalize_began", "finalize_intended"
ENDING = "experiment_ending"
_OPEN = "open"


def opened(read: Read) -> dict[str, Any] | None:
    """cwd, then plan and branches to their tips too; None where nothing is open."""
    value = read(ENDING, _OPEN)
    return _plan(value) if value else None


def began(cwd: str) -> dict[str, Any]:
    """The event before anything is made."""
    return {"stream": "events", "type": BEGAN, "payload": {"cwd": cwd}}


def intended(plan: dict[str, Any], branches: dict[str, str]) -> dict[str, Any]:
    """The event before the branches get their names."""
    payload = {"plan": plan, "branches": branches}
    return {"stream": "events", "type": INTENDED, "payload": payload}


def _fold_event(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    if isinstance(payload, dict):
        states.put(ENDING, _OPEN, (states.get(ENDING, _OPEN, _plan) or {}) | payload)


def _fold_status(_record: dict[str, Any], states: States) -> None:
    """A step of the session's states closes what is open."""
    if states.get(ENDING, _OPEN, _plan) is not None:
        states.put(ENDING, _OPEN, None)


def _plan(value: bytes) -> dict[str, Any] | None:
    found = orjson.loads(value)
    return found if isinstance(found, dict) else None


FOLDS = {
    ("events", BEGAN): _fold_event,
    ("events", INTENDED): _fold_event,
    ("events", STATUS_CHANGED): _fold_status,
}
