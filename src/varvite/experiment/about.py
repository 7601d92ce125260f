"""What a session is called and belongs to, as was said last, and when it changed."""

from collections.abc import Iterator
from typing import Any

import orjson

from varvite.experiment.ledger import UPDATED
from varvite.session.kind import Entry, Read

ABOUT = "experiment_about"
TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "project_id": (str, type(None)),
    "working_dir": (str, type(None)),
    "max_iterations": (int, type(None)),
    "tags": (list, tuple),
    "metadata": (dict, type(None)),
}
"""What can be said of a session, and of which type."""
_SAID, _UPDATED = "said", "updated"
_CHANGING = frozenset({"records", "events"})
_PAYLOAD = ("project_id", "working_dir", "max_iterations", "tags")


def fold(record: dict[str, Any], read: Read) -> Iterator[Entry]:
    """When it was, and what it says; takes whatever the contracts let through."""
    if record["stream"] in _CHANGING:
        yield ABOUT, _UPDATED, record["at"].encode()
    payload = record.get("payload")
    given = payload if isinstance(payload, dict) else {}
    if record["stream"] == "records" and record.get("type") == "config":
        told = {name: given[name] for name in _PAYLOAD if name in given}
        told |= {} if payload is None else {"metadata": payload}
        told |= {"name": record["name"]} if record.get("name") is not None else {}
    elif record["stream"] == "events" and record.get("type") == UPDATED:
        told = {name: given[name] for name in TYPES if name in given}
    else:
        return
    yield ABOUT, _SAID, orjson.dumps((about(read) or {}) | told)


def about(read: Read) -> dict[str, Any] | None:
    """What was said; None where nothing was."""
    value = read(ABOUT, _SAID)
    found: dict[str, Any] | None = orjson.loads(value) if value else None
    return found


def updated(read: Read) -> str | None:
    """When the session last changed; None where it never did."""
    value = read(ABOUT, _UPDATED)
    return value.decode() if value else None


def fits(name: str, value: Any) -> bool:
    """Whether a session can be said to be this."""
    types = TYPES.get(name)
    return types is not None and isinstance(value, types) and not isinstance(value, bool)
