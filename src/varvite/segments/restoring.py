"""From the rows of segments back to record lines, for seqs that a journal lost."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pyarrow.compute as pc

from varvite.disk.files import Folder
from varvite.errors import VarviteError
from varvite.records.contracts import stream_columns, stream_json
from varvite.segments import check
from varvite.segments.manifest import LAKE, Manifest, Segment
from varvite.segments.scan import BODY
from varvite.segments.writing import opened


def lines(store: Folder, manifest: Manifest, uid: str, first: int, last: int) -> dict[int, bytes]:
    """Record lines by seq, of those from `first` to `last` that a sound segment holds.

    They hold the same values; keys whose value was null are gone, and numbers may be
    written another way.
    """
    found: dict[int, bytes] = {}
    for segment in manifest.segments:
        span = segment.sessions.get(uid)
        if span and span.first <= last and span.last >= first:
            try:
                check.verify(store, segment)
                found |= dict(_rows(store, segment, uid, first, last))
            except VarviteError:
                continue  # repaired in its turn, from what the journal then has
    return found


def _rows(
    store: Folder, segment: Segment, uid: str, first: int, last: int
) -> Iterator[tuple[int, bytes]]:
    folder_name, name = segment.path.split("/")
    with (
        store.folder(LAKE) as lake,
        lake.folder(folder_name) as folder,
        opened(folder, name) as file,
    ):
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            ours = (pc.field("session_uid") == uid) & (pc.field("seq") >= first)
            for row in table.filter(ours & (pc.field("seq") <= last)).to_pylist():
                yield row["seq"], _line(segment.stream, row)


def _line(stream: str, row: dict[str, Any]) -> bytes:
    texts = stream_json(stream)
    record: dict[str, Any] = {}
    for name, kind in stream_columns(stream).items():
        value = row[name]
        if value is None and name != "prev_seq":
            continue
        if name in texts:
            value = orjson.loads(value)
        record[name] = _moment(value) if kind == "TIMESTAMPTZ" else value
    body = orjson.loads(row[BODY]) if row[BODY] is not None else {}
    return orjson.dumps(record | body, option=orjson.OPT_APPEND_NEWLINE)


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
