"""The count of a session's continuation steps: what leases and obligations expire by."""

from collections.abc import Iterable

from varvite.graph.table import Record, Table
from varvite.session.kind import Read

SUBMITTED = "batch.submitted"
STEP, STEP_KEY = "step", "all"


def count(read: Read) -> int:
    """Steps so far; each batch that `submit` committed is one."""
    return int(read(STEP, STEP_KEY) or b"0")


def _keys(event: Record) -> Iterable[str]:
    return (STEP_KEY,) if event["type"] == SUBMITTED else ()


TABLES = (Table(STEP, "events", _keys, lambda _event, read: b"%d" % (count(read) + 1)),)
