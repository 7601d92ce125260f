"""Records of one batch in the making, and the index as it will be with them.

Each part of a step adds what it decides and reads what the parts before it decided,
so that nothing is worked out twice: what is read comes from the fold.
"""

from typing import Any

from varvite.graph.table import Record
from varvite.session.kind import Fold, Read


class Batch:
    """read: the index as of the session's cursor; fold: the session kind's."""

    def __init__(self, read: Read, fold: Fold) -> None:
        self._before, self._fold = read, fold
        self._made: dict[tuple[str, str], bytes] = {}
        self.records: list[Record] = []

    def read(self, table: str, key: str) -> bytes | None:
        value = self._made.get((table, key))
        return self._before(table, key) if value is None else value

    def add(self, stream: str, record_id: str, fields: Record) -> None:
        """Add a record that is whole: its id's state afterwards."""
        self._add({"stream": stream, "id": record_id, **fields})

    def event(self, kind: str, payload: dict[str, Any], refs: dict[str, Any] | None = None) -> None:
        fields = {"refs": refs} if refs else {}
        self._add({"stream": "events", "type": kind, **fields, "payload": payload})

    def _add(self, record: Record) -> None:
        self.records.append(record)
        for table, key, value in self._fold([{"rev": 1, **record}], self.read):
            self._made[table, key] = value
