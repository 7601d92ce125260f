"""Which segment and which ordinal the next records get."""

from dataclasses import asdict
from typing import Any

from varvite.errors import InvalidRecordError
from varvite.experiment.ledger import SessionState, resolved
from varvite.experiment.status import Rules


class Place:
    """Where the next record goes. Stamps records in the order in which they are committed."""

    def __init__(self, state: SessionState) -> None:
        self._segment = state.segment
        self._ordinal = state.ordinal
        self._runs = state.runs
        self._definition = state.definition

    def stamp(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record with its segment; a run with its ordinal; a config with all it defines.

        A config opens a segment after at least one run, and amends the current one before that.
        A segment that a record brings along, from another store, stays.
        """
        if record["stream"] != "records":
            return record
        if record["type"] == "config":
            return self._config(record)
        placed = {"segment": self._segment} | record
        if record["type"] == "run":
            self._runs += 1
            self._ordinal += 1
            placed["ordinal"] = self._ordinal
        return placed

    def _config(self, record: dict[str, Any]) -> dict[str, Any]:
        self._segment = record.get("segment") or self._segment + (1 if self._runs else 0)
        self._definition = resolved(record, self._definition)
        return record | {"segment": self._segment} | asdict(self._definition)


def moved(record: dict[str, Any], segment: int | None, rules: Rules) -> dict[str, Any]:
    """The record in a segment that its caller named, which only Fusion's rules let be another.

    Raises:
        InvalidRecordError: .path
    """
    if segment is None or segment == record["segment"]:
        return record
    if rules == "strict" or record["type"] == "config":
        raise InvalidRecordError(
            f"segment {segment}: the session is in segment {record['segment']}",
            path="records[].segment",
        )
    return record | {"segment": segment}
