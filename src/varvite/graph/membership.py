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
from varvite.graph.table import Record, Table, listed
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


def paper_key(bucket_id: str, paper: str) -> str:
    return f"{bucket_id}\0{paper}"


def _papers(record: Record) -> Iterable[str]:
    paper = record.get("paper_key")
    if paper is None or record["state"] != ASSIGNED:
        return ()
    return [paper_key(bucket_id, paper) for bucket_id in record["bucket_ids"]]


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


TABLES = (
    Table(BUCKET_MEMBERSHIP, "memberships", lambda record: (record["node_id"],), _value),
    Table(BUCKET_PAPER, "memberships", _papers, lambda _record, _read: b""),
    *(
        Table(QUEUE, "memberships", _enters_or_leaves(state), _queue(state))
        for state in (AMBIGUOUS, CANDIDATE)
    ),
)
