"""Where a node stands in the field map: in buckets, between them, or in none.

One record a node says all of it: a later one replaces it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

import orjson

from varvite import ids
from varvite.graph.bucket import Facts
from varvite.graph.signature import SCALE
from varvite.graph.table import Record, Spread, Table, listed
from varvite.session.kind import Read

BUCKET_MEMBERSHIP, BUCKET_PAPER, QUEUE = "bucket_membership", "bucket_paper", "field_queue"
ASSIGNED, AMBIGUOUS, CANDIDATE = "assigned", "ambiguous", "new_bucket_candidate"
QUEUE_MAX = 64
"""Nodes that wait in the index for a decision; an older one is found in SQL."""


@dataclass(slots=True)
class Membership:
    """buckets: bucket id to (score in millionths, method): those it is in, or may be in."""

    node_id: str
    state: str
    buckets: dict[str, tuple[int, str]] = field(default_factory=dict)
    facts: Facts = field(default_factory=Facts)

    @classmethod
    def read(cls, read: Read, node_id: str) -> Self | None:
        stored = read(BUCKET_MEMBERSHIP, node_id)
        if stored is None:
            return None
        state, buckets, facts = orjson.loads(stored)
        found = {bucket_id: (score, method) for bucket_id, score, method in buckets}
        return cls(node_id, state, found, Facts(*facts))

    def record(self) -> Record:
        made = {
            "stream": "memberships",
            "id": ids.derived("membership", self.node_id),
            "node_id": self.node_id,
            "state": self.state,
            "bucket_ids": list(self.buckets),
            "scores": [score / SCALE for score, _ in self.buckets.values()],
            "methods": [method for _, method in self.buckets.values()],
        }
        return made | {name: value for name, value in self.facts._asdict().items() if value}


def _facts(record: Record) -> Facts:
    return Facts(*(record.get(name) for name in Facts._fields))


def _value(record: Record, _read: Read) -> bytes:
    scores = (round(score * SCALE) for score in record["scores"])
    buckets = list(zip(record["bucket_ids"], scores, record["methods"], strict=True))
    return orjson.dumps((record["state"], buckets, tuple(_facts(record))))


class Papers:
    """How many nodes of each paper a bucket has, and what this batch makes of it."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._counts: dict[str, int] = {}

    def enter(self, bucket_id: str, paper: str | None) -> int:
        """Count a node in; by how many papers the bucket has more."""
        return 0 if paper is None else int(self._count(bucket_id, paper, 1) == 1)

    def leave(self, bucket_id: str, paper: str | None) -> int:
        """Count a node out; by how many papers the bucket has fewer."""
        return 0 if paper is None else int(self._count(bucket_id, paper, -1) == 0)

    def _count(self, bucket_id: str, paper: str, change: int) -> int:
        key = _paper_key(bucket_id, paper)
        if key not in self._counts:
            self._counts[key] = int(self._read(BUCKET_PAPER, key) or b"0")
        self._counts[key] += change
        return self._counts[key]


def _paper_key(bucket_id: str, paper: str) -> str:
    return f"{bucket_id}\0{paper}"


def _keys(state: str, bucket_ids: Iterable[str], paper: str | None) -> list[str]:
    if paper is None or state != ASSIGNED:
        return []
    return [_paper_key(bucket_id, paper) for bucket_id in bucket_ids]


def _papers(record: Record, read: Read) -> Iterable[tuple[str, bytes]]:
    """The counts that a record moves; what the node was before is still to be read."""
    after = _keys(record["state"], record["bucket_ids"], record.get("paper_key"))
    known = Membership.read(read, record["node_id"]) if record["rev"] else None
    before = _keys(known.state, known.buckets, known.facts.paper_key) if known else []
    for keys, others, change in ((before, after, -1), (after, before, 1)):
        for key in keys:
            if key not in others:
                yield key, b"%d" % (int(read(BUCKET_PAPER, key) or b"0") + change)


def queued(read: Read, state: str) -> list[str]:
    """The nodes that wait in this state, the newest last."""
    return listed(read, QUEUE, state)


def _enters_or_leaves(state: str) -> Callable[[Record], Iterable[str]]:
    return lambda record: (state,) if record["state"] == state or record["rev"] else ()


def _queue(state: str) -> Callable[[Record, Read], bytes]:
    def value(record: Record, read: Read) -> bytes:
        nodes = [one for one in queued(read, state) if one != record["node_id"]]
        if record["state"] == state:
            nodes.append(record["node_id"])
        return orjson.dumps(nodes[-QUEUE_MAX:])

    return value


TABLES: tuple[Table | Spread, ...] = (
    Spread(BUCKET_PAPER, "memberships", _papers),
    Table(BUCKET_MEMBERSHIP, "memberships", lambda record: (record["node_id"],), _value),
    *(
        Table(QUEUE, "memberships", _enters_or_leaves(state), _queue(state))
        for state in (AMBIGUOUS, CANDIDATE)
    ),
)
"""In this order: papers are counted against what the membership was before."""
