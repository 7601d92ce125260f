"""From a caller's records to the lines of a batch: ids, revisions, the envelope, the limits."""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from varvite import ids
from varvite.errors import InvalidRecordError, LimitError
from varvite.records.limits import BATCH_BYTES_MAX, BATCH_RECORDS_MAX, RECORD_BYTES_MAX, check
from varvite.session.index import key_bytes

REVISIONS = "record"
_ENVELOPE = frozenset({"seq", "rev", "prev_seq", "at"})
_REVISION = struct.Struct("<QI")

ReadMany = Callable[[list[bytes]], list[bytes | None]]


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a batch, each with its newline, the records they hold, and where ids stand."""

    encoded: list[bytes]
    records: list[dict[str, Any]]
    latest: dict[bytes, bytes]

    def by_stream(self) -> dict[str, list[bytes]]:
        groups: dict[str, list[bytes]] = {}
        for record, line in zip(self.records, self.encoded, strict=True):
            groups.setdefault(record["stream"], []).append(line)
        return groups


def revisions(records: Iterable[dict[str, Any]]) -> dict[bytes, bytes]:
    """The index entries that say where each id stands after these records.

    None for a record that the session numbered itself: it is never revised.
    """
    return {
        _revision_key(record["stream"], record["id"]): _REVISION.pack(record["seq"], record["rev"])
        for record in records
        if record["id"] != f"{record['stream']}-{record['seq']}"
    }


def seq_of(read: Callable[[str, str], bytes | None], stream: str, record_id: str) -> int | None:
    """The seq of the newest revision of a record; None where there is none. One lookup."""
    value = read(REVISIONS, f"{stream}\0{record_id}")
    return int(_REVISION.unpack(value)[0]) if value else None


def _revision_key(stream: str, record_id: str) -> bytes:
    return key_bytes(REVISIONS, f"{stream}\0{record_id}")


def lines(
    given: Sequence[dict[str, Any]], after_seq: int, at: str, actor: str, read: ReadMany
) -> Lines:
    """Hold the records against their contracts and number them.

    Raises:
        InvalidRecordError, InvalidIdError, LimitError: with the record's path.
    """
    _refuse_size(given)
    _validate(given)
    keys = [_key(fields) for fields in given]
    asked = [key for key in keys if key is not None]
    latest = dict(zip(asked, read(asked), strict=True))
    encoded, records = [], []
    for seq, (fields, key) in enumerate(zip(given, keys, strict=True), after_seq + 1):
        record = _number(fields, seq, at, actor, latest.get(key) if key else None)
        if key:
            latest[key] = _REVISION.pack(seq, record["rev"])
        encoded.append(_encode(record, seq - after_seq - 1))
        records.append(record)
    _refuse_bytes(sum(map(len, encoded)))
    return Lines(encoded, records, {key: value for key, value in latest.items() if value})


def _key(fields: dict[str, Any]) -> bytes | None:
    record_id = fields.get("id")
    if record_id is None:
        return None
    _check_id(record_id, fields["stream"])
    return _revision_key(fields["stream"], record_id)


def _validate(given: Sequence[dict[str, Any]]) -> None:
    from varvite.records.contracts import validate

    groups: dict[str, list[dict[str, Any]]] = {}
    for position, fields in enumerate(given):
        if not isinstance(fields, dict) or not isinstance(fields.get("stream"), str):
            raise InvalidRecordError(f"[{position}].stream is missing", path=f"[{position}].stream")
        if not isinstance(fields.get("actor", ""), str):
            path = f"[{position}].actor"
            raise InvalidRecordError(f"{path} is not a string", path=path)
        if not _ENVELOPE.isdisjoint(fields):
            name = next(iter(_ENVELOPE.intersection(fields)))
            path = f"[{position}].{name}"
            raise InvalidRecordError(f"{path} is the session's to give", path=path)
        groups.setdefault(fields["stream"], []).append(fields)
    for stream, records in groups.items():
        validate(ids.stream(stream), records)


def _number(
    fields: dict[str, Any], seq: int, at: str, actor: str, previous: bytes | None
) -> dict[str, Any]:
    prev_seq, rev = None, 0
    if previous is not None:
        prev_seq, rev = _REVISION.unpack(previous)
        rev += 1
    stream = fields["stream"]
    head = {
        "seq": seq,
        "stream": stream,
        "id": f"{stream}-{seq}",
        "rev": rev,
        "prev_seq": prev_seq,
        "at": at,
        "actor": actor,
    }
    record = {**head, **fields}
    if record["id"] is None:
        record["id"] = head["id"]
    return record


def _check_id(record_id: Any, stream: str) -> None:
    if not isinstance(record_id, str):
        raise InvalidRecordError(f"{stream}: an id is a string", path=f"{stream}.id")
    ids.record_id(record_id)
    if record_id.startswith(f"{stream}-") and record_id[len(stream) + 1 :].isdigit():
        raise InvalidRecordError(
            f"{record_id!r} is an id that the session gives itself", path=f"{stream}.id"
        )


def _encode(record: dict[str, Any], position: int) -> bytes:
    try:
        line = orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:  # a lone surrogate: find where
        check(record, f"[{position}]")
        raise InvalidRecordError(f"[{position}]: {error}", path=f"[{position}]") from error
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
