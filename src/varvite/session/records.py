"""From a caller's records to the lines of a batch: ids, revisions, the envelope, the limits."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from varvite import ids
from varvite.errors import InvalidRecordError, LimitError
from varvite.records.limits import BATCH_BYTES_MAX, BATCH_RECORDS_MAX, RECORD_BYTES_MAX
from varvite.session.kind import Entry

REVISIONS = "record"
_ENVELOPE = frozenset({"seq", "rev", "prev_seq", "at"})
_REVISION = struct.Struct("<QI")

Previous = Callable[[str, str], bytes | None]


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a batch, each with its newline, and the records they hold."""

    encoded: list[bytes]
    records: list[dict[str, Any]]


def revision_entry(record: dict[str, Any]) -> Entry | None:
    """Where the record's id stands now; none for a record that the session numbered itself."""
    stream, record_id, seq = record["stream"], record["id"], record["seq"]
    if record_id == f"{stream}-{seq}":
        return None
    return REVISIONS, f"{stream}\0{record_id}", _REVISION.pack(seq, record["rev"])


def lines(
    given: Sequence[dict[str, Any]], after_seq: int, at: str, actor: str, read: Previous
) -> Lines:
    """Hold the records against their contracts and number them.

    Raises:
        InvalidRecordError, InvalidIdError, LimitError: with the record's path.
    """
    _refuse_size(given)
    _validate(given)
    latest: dict[str, tuple[int, int]] = {}
    encoded, records = [], []
    for seq, fields in enumerate(given, after_seq + 1):
        record = _number(fields, seq, at, actor, latest, read)
        encoded.append(_encode(record, seq - after_seq - 1))
        records.append(record)
    _refuse_bytes(sum(map(len, encoded)))
    return Lines(encoded, records)


def _validate(given: Sequence[dict[str, Any]]) -> None:
    from varvite.records.contracts import validate

    groups: dict[str, list[dict[str, Any]]] = {}
    for position, fields in enumerate(given):
        stream = fields.get("stream")
        if not isinstance(stream, str):
            raise InvalidRecordError(f"[{position}].stream is missing", path=f"[{position}].stream")
        if not _ENVELOPE.isdisjoint(fields):
            name = next(iter(_ENVELOPE.intersection(fields)))
            path = f"[{position}].{name}"
            raise InvalidRecordError(f"{path} is the session's to give", path=path)
        groups.setdefault(stream, []).append(fields)
    for stream, records in groups.items():
        validate(ids.stream(stream), records)


def _number(
    fields: dict[str, Any],
    seq: int,
    at: str,
    actor: str,
    latest: dict[str, tuple[int, int]],
    read: Previous,
) -> dict[str, Any]:
    stream = fields["stream"]
    record_id = fields.get("id")
    rev, prev_seq = 0, None
    if record_id is None:
        record_id = f"{stream}-{seq}"
    else:
        _check_id(record_id, stream)
        name = f"{stream}\0{record_id}"
        previous = latest.get(name) or _stored(read(REVISIONS, name))
        if previous:
            prev_seq, rev = previous[0], previous[1] + 1
        latest[name] = (seq, rev)
    head = {
        "seq": seq,
        "stream": stream,
        "id": record_id,
        "rev": rev,
        "prev_seq": prev_seq,
        "at": at,
        "actor": fields.get("actor", actor),
    }
    return head | {name: value for name, value in fields.items() if name not in head}


def _check_id(record_id: Any, stream: str) -> None:
    if not isinstance(record_id, str):
        raise InvalidRecordError(f"{stream}: an id is a string", path=f"{stream}.id")
    ids.record_id(record_id)
    if record_id.startswith(f"{stream}-") and record_id[len(stream) + 1 :].isdigit():
        raise InvalidRecordError(
            f"{record_id!r} is an id that the session gives itself", path=f"{stream}.id"
        )


def _stored(value: bytes | None) -> tuple[int, int] | None:
    if value is None:
        return None
    seq, rev = _REVISION.unpack(value)
    return seq, rev


def _encode(record: dict[str, Any], position: int) -> bytes:
    line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    if len(line) > RECORD_BYTES_MAX:
        path = f"[{position}]"
        raise LimitError(
            f"{path}: a record of {len(line)} bytes; the limit is {RECORD_BYTES_MAX}",
            hint="keep the bytes in a file, and its hash in the record",
            path=path,
            limit=RECORD_BYTES_MAX,
        )
    return line


def _refuse_size(given: Sequence[dict[str, Any]]) -> None:
    if not given:
        raise InvalidRecordError("a batch has at least one record", path="[]")
    if len(given) > BATCH_RECORDS_MAX:
        raise LimitError(
            f"a batch of {len(given)} records; the limit is {BATCH_RECORDS_MAX}",
            hint="append it in several batches",
            path="[]",
            limit=BATCH_RECORDS_MAX,
        )


def _refuse_bytes(size: int) -> None:
    if size > BATCH_BYTES_MAX:
        raise LimitError(
            f"a batch of {size} bytes; the limit is {BATCH_BYTES_MAX}",
            hint="append it in several batches",
            path="[]",
            limit=BATCH_BYTES_MAX,
        )
