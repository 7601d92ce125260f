"""Lines that cannot be read, kept whole as records of stream `quarantine`."""

import base64
from typing import Any, NamedTuple

import orjson

from varvite.adapters.lines import Line
from varvite.records.foreign import Quarantined
from varvite.records.limits import RECORD_BYTES_MAX

PART_BYTES = 256 << 10
_LONG_BYTES = 64 << 10
"""A line under this makes a record under the limit, whatever its escapes."""
_ENVELOPE_BYTES = 4 << 10


class UnreadableError(Exception):
    """Raised and caught inside the adapters: this line goes to quarantine."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind, self.reason = kind, reason


class Kept(NamedTuple):
    records: list[dict[str, Any]]
    entry: Quarantined


def too_long(record: dict[str, Any], data: bytes) -> bool:
    """Whether a record made of the line `data` would be over the limit of one record."""
    if len(data) < _LONG_BYTES:
        return False
    return len(orjson.dumps(record)) + _ENVELOPE_BYTES > RECORD_BYTES_MAX


def kept(line: Line, fault: UnreadableError, place: dict[str, Any]) -> Kept:
    """The records that keep a line: its text, or base64 where it is not text, or is long."""
    record = {
        "stream": "quarantine",
        "kind": fault.kind,
        "action": "kept",
        "reason": fault.reason[:1000],
        **place,
    }
    if fault.kind != "not_utf8" and len(line.data) < _LONG_BYTES:
        records = [record | {"raw": line.data.decode(), "encoding": "utf-8", "part": 1, "parts": 1}]
    else:
        records = _in_parts(line.data, record)
    return Kept(records, Quarantined(line.number, fault.kind, record["action"]))


def _in_parts(data: bytes, record: dict[str, Any]) -> list[dict[str, Any]]:
    pieces = [data[at : at + PART_BYTES] for at in range(0, len(data), PART_BYTES)]
    return [
        record
        | {"raw": base64.b64encode(piece).decode(), "encoding": "base64"}
        | {"part": part, "parts": len(pieces)}
        for part, piece in enumerate(pieces, 1)
    ]
