"""What a session recorded and still counts, in order, each record with what patches said of it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from varvite.session.reader import Reader

STREAMS = frozenset({"records", "quarantine"})


class Told(NamedTuple):
    """patch: all that later records said of this one; None where there was nothing."""

    record: dict[str, Any]
    patch: dict[str, Any] | None


def told(reader: Reader) -> Iterator[Told]:
    """The records and set aside lines as of the reader's cursor; of a log its newest reading.

    Reads the history twice, and holds the patches.
    """
    patches: dict[int, dict[str, Any]] = {}
    newest: dict[str, int] = {}
    for record in _records(reader):
        if source := record.get("source"):
            newest[source] = max(newest.get(source, 0), record.get("generation") or 0)
        said, target = record.get("payload"), record.get("target_seq")
        if record.get("type") == "patch" and isinstance(said, dict) and target:
            patches[target] = patches.get(target, {}) | said
    for record in _records(reader):
        counts = (record.get("generation") or 0) == newest.get(record.get("source") or "", 0)
        if counts and record.get("type") != "patch":
            yield Told(record, patches.get(record["seq"]))


def _records(reader: Reader) -> Iterator[dict[str, Any]]:
    upto = reader.cursor
    for batch in reader.batches():
        if batch.commit.first > upto:
            return
        for line in batch.lines():
            record: dict[str, Any] = orjson.loads(line)
            if record["stream"] in STREAMS:
                yield record
