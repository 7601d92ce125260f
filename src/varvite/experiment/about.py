"""What a session is called and belongs to, as was said last, and when it changed."""

from typing import Any

import orjson

from varvite.experiment.ledger import UPDATED
from varvite.experiment.states import States
from varvite.session.kind import Read

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


def changed(record: dict[str, Any], states: States) -> None:
    """Remember when the session changed, by any record of its own."""
    if record["stream"] in _CHANGING:
        states.put(ABOUT, _UPDATED, record["at"], str.encode)


def _fold_config(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    given = payload if isinstance(payload, dict) else {}
    told = {name: given[name] for name in _PAYLOAD if name in given}
    told |= {} if payload is None else {"metadata": payload}
    told |= {"name": record["name"]} if record.get("name") is not None else {}
    _tell(told, states)


def _fold_updated(record: dict[str, Any], states: States) -> None:
    payload = record.get("payload")
    given = payload if isinstance(payload, dict) else {}
    _tell({name: given[name] for name in TYPES if name in given}, states)


def _tell(told: dict[str, Any], states: States) -> None:
    states.put(ABOUT, _SAID, (states.get(ABOUT, _SAID, orjson.loads) or {}) | told)


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


FOLDS = {("records", "config"): _fold_config, ("events", UPDATED): _fold_updated}
