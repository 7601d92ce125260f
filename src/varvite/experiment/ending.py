"""What a finalize set out to do: one index entry, by which the next open undoes or ends it."""

from collections.abc import Iterator
from typing import Any

import orjson

from varvite.experiment.ledger import STATUS_CHANGED
from varvite.session.kind import Entry, Read

BEGAN, INTENDED = "finalize_began", "finalize_intended"
ENDING = "experiment_ending"
_OPEN = "open"
_KINDS = frozenset({BEGAN, INTENDED})


def fold(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    """The entry of an event of finalize; a step of the session's states closes it."""
    if record["stream"] != "events":
        return
    payload = record.get("payload")
    if record.get("type") in _KINDS and isinstance(payload, dict):
        yield ENDING, _OPEN, orjson.dumps((opened(read) or {}) | payload)
    elif record.get("type") == STATUS_CHANGED and opened(read) is not None:
        yield ENDING, _OPEN, b"null"


def opened(read: Read) -> dict[str, Any] | None:
    """cwd, then plan and branches to their tips too; None where nothing is open."""
    value = read(ENDING, _OPEN)
    found = orjson.loads(value) if value else None
    return found if isinstance(found, dict) else None


def began(cwd: str) -> dict[str, Any]:
    """The event before anything is made."""
    return {"stream": "events", "type": BEGAN, "payload": {"cwd": cwd}}


def intended(plan: dict[str, Any], branches: dict[str, str]) -> dict[str, Any]:
    """The event before the branches get their names."""
    payload = {"plan": plan, "branches": branches}
    return {"stream": "events", "type": INTENDED, "payload": payload}
