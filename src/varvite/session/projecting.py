"""From committed batches to their projections: stream files, then the index."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from varvite.session.index import Applied, Index, key_bytes
from varvite.session.journal import Commit
from varvite.session.kind import Entry, Fold
from varvite.session.records import revisions

KEYS = "key"


def entries(
    commit: Commit,
    records: Sequence[dict[str, Any]],
    latest: dict[bytes, bytes],
    fold: Fold,
    index: Index,
) -> dict[bytes, bytes]:
    """All index entries of one batch: revisions, the kind's own, and the idempotency key."""
    made = dict(latest)

    def read(table: str, key: str) -> bytes | None:
        value = made.get(key_bytes(table, key))
        return index.get(table, key) if value is None else value

    for entry in fold(records, read):
        _put(made, entry)
    if commit.key is not None:
        receipt = [commit.batch, commit.first, commit.last, commit.at]
        _put(made, (KEYS, commit.key, orjson.dumps(receipt)))
    return made


def replayed(
    commit: Commit, lines: Iterable[bytes], fold: Fold, index: Index
) -> dict[bytes, bytes]:
    """The same, from the lines of a batch."""
    records = [orjson.loads(line) for line in lines]
    return entries(commit, records, revisions(records), fold, index)


def _put(made: dict[bytes, bytes], entry: Entry) -> None:
    table, key, value = entry
    made[key_bytes(table, key)] = value


def applied(uid: str, commit: Commit) -> Applied:
    return Applied(uid, commit.last, commit.batch, commit.crc, commit.level)
