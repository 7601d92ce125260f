"""Whether a session takes records: active, or paused until someone resumes it."""

from collections.abc import Iterable

from varvite.errors import SessionStatusError
from varvite.graph.batch import Batch
from varvite.graph.table import Record, Table
from varvite.session.kind import Read

STATUS, ALL = "status", "all"
CHANGED = "status_changed"
STEPS: dict[str, frozenset[str]] = {
    "active": frozenset({"paused"}),
    "paused": frozenset({"active"}),
}


def now(read: Read) -> str:
    """One read."""
    return (read(STATUS, ALL) or b"active").decode()


def step_to(batch: Batch, session_id: str, to: str, why: str) -> None:
    """Record the step.

    Raises:
        SessionStatusError: .status has no such step.
    """
    status = now(batch.read)
    if to not in STEPS[status]:
        raise SessionStatusError(f"session {session_id} is {status} already", status=status)
    batch.event(CHANGED, {"from": status, "to": to, "why": why})


def check_takes_records(read: Read, session_id: str) -> None:
    """Refuse records while the session is paused.

    Raises:
        SessionStatusError: .status
    """
    status = now(read)
    if status != "active":
        raise SessionStatusError(
            f"session {session_id} is {status}", hint="resume it", status=status
        )


def _changed(event: Record) -> Iterable[str]:
    return (ALL,) if event["type"] == CHANGED else ()


TABLES = (
    Table(STATUS, "events", _changed, lambda event, _read: bytes(event["payload"]["to"], "ascii")),
)
