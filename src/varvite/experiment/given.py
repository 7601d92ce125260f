"""A record of the caller's, before the session has placed it."""

from typing import Any

from varvite.errors import InvalidRecordError
from varvite.records.outcomes import STATUSES, measured

TYPES = ("config", "run", "hook", "finalize")
OUTCOMES = tuple(word for word in STATUSES if word != "unknown")
_GIVEN = ("id", "segment", "ordinal", "metric_state", "source", "source_line", "generation")


def checked(record: dict[str, Any], position: int) -> dict[str, Any]:
    """A record of the caller's, as stream `records` takes it.

    Raises:
        InvalidRecordError: .path
    """
    path = f"records[{position}]"
    if record.get("type") not in TYPES:
        raise InvalidRecordError(
            f"{path}.type: {str(record.get('type'))[:80]!r}",
            hint=f"one of {', '.join(TYPES)}",
            path=f"{path}.type",
        )
    for name in _GIVEN:
        if name in record:
            raise InvalidRecordError(
                f"{path}.{name} is the session's to give", path=f"{path}.{name}"
            )
    return (_run(record, path) if record["type"] == "run" else record) | {"stream": "records"}


def _run(record: dict[str, Any], path: str) -> dict[str, Any]:
    if record.get("status") not in OUTCOMES:
        raise InvalidRecordError(
            f"{path}.status: {str(record.get('status'))[:80]!r}",
            hint=f"one of {', '.join(OUTCOMES)}",
            path=f"{path}.status",
        )
    metric, metric_state = measured(record.get("metric"))
    return record | {"metric": metric, "metric_state": metric_state}
