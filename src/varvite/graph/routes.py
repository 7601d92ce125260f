"""Which buckets a node may belong to: an inverted index over what buckets have in common.

A feature leads to a bounded number of buckets, a bucket stands under its heaviest
features alone, and a filter says which features lead anywhere. So finding a node's
buckets costs a bounded number of lookups, however many buckets there are.
"""

from collections.abc import Iterable

import orjson

from varvite.graph.signature import HEAD, Weighed
from varvite.graph.table import Record, Several
from varvite.session.kind import Entry, Read

POSTING, FILTER, SIGNATURE = "bucket_posting", "bucket_filter", "bucket_signature"
POSTING_MAX = 64
"""Buckets under one feature; one that comes later is found by its other features."""

LOOKUPS = 48
CANDIDATES = 6
"""Features of a node that are looked up, and buckets that are looked at, at most."""

FILTER_SLOTS = 8192
_FULL = 255


class Routes:
    """The index of one method, and over it what this batch moved."""

    def __init__(self, read: Read, method: str) -> None:
        self._read, self._method = read, method
        self._filter: bytearray | None = None
        self._postings: dict[int, list[str]] = {}
        self._moved: set[int] = set()
        self._changes: list[tuple[int, int]] = []

    def candidates(self, node: Weighed) -> list[str]:
        """Buckets that share features with the node, those that share most of its weight first."""
        votes: dict[str, int] = {}
        for feature in self._leading(node):
            weight = node.weights[feature]
            for bucket_id in self._postings.get(feature) or self._posting(feature):
                votes[bucket_id] = votes.get(bucket_id, 0) + weight
        return sorted(votes, key=lambda bucket_id: (-votes[bucket_id], bucket_id))[:CANDIDATES]

    def move(self, bucket_id: str, before: frozenset[int], after: frozenset[int]) -> None:
        """Let the bucket stand under its new head alone."""
        for feature in before - after:
            posting = self._posting(feature)
            if bucket_id in posting:
                posting.remove(bucket_id)
                self._count(feature, -1)
        for feature in after - before:
            posting = self._posting(feature)
            if bucket_id not in posting and len(posting) < POSTING_MAX:
                posting.append(bucket_id)
                posting.sort()
                self._count(feature, 1)

    def entries(self) -> Iterable[Entry]:
        """The index entries of the features under which something was moved, and the filter."""
        for feature in sorted(self._moved):
            yield POSTING, self._key(feature), orjson.dumps(self._postings[feature])
        if self._moved:
            yield FILTER, self._method, bytes(self._slots())

    def _leading(self, node: Weighed) -> list[int]:
        """The node's features that may lead to buckets: all of them, or the heaviest."""
        slots, weights = self._slots(), node.weights
        leading = [feature for feature in weights if slots[feature % FILTER_SLOTS]]
        if len(leading) > LOOKUPS:
            leading.sort(key=lambda feature: (-weights[feature], feature))
        return leading[:LOOKUPS]

    def _posting(self, feature: int) -> list[str]:
        posting = self._postings.get(feature)
        if posting is None:
            stored = self._read(POSTING, self._key(feature))
            posting = self._postings[feature] = orjson.loads(stored) if stored else []
        return posting

    def _count(self, feature: int, change: int) -> None:
        self._moved.add(feature)
        self._changes.append((feature % FILTER_SLOTS, change))

    def _slots(self) -> bytearray:
        """The filter. A slot that is full stays so: it may say yes too often, never no."""
        if self._filter is None:
            self._filter = bytearray(self._read(FILTER, self._method) or FILTER_SLOTS)
        for slot, change in self._changes:
            if self._filter[slot] != _FULL:
                self._filter[slot] += change
        self._changes.clear()
        return self._filter

    def _key(self, feature: int) -> str:
        return f"{self._method}\0{feature}"


def signature_key(method: str, bucket_id: str) -> str:
    return f"{method}\0{bucket_id}"


def _heads(bucket: Record, read: Read) -> tuple[frozenset[int], frozenset[int]]:
    """What a bucket stood under before its record, and what it stands under after it."""
    stored = read(SIGNATURE, signature_key(bucket["signature"]["method"], bucket["id"]))
    before = orjson.loads(stored)[0] if stored else []
    return frozenset(before[:HEAD]), frozenset(bucket["signature"]["features"][:HEAD])


def _entries(bucket: Record, read: Read) -> Iterable[Entry]:
    """Where the bucket stands by its record; made from where it stood, so its own head is last."""
    made = bucket["signature"]
    routes = Routes(read, made["method"])
    routes.move(bucket["id"], *_heads(bucket, read))
    yield from routes.entries()
    key = signature_key(made["method"], bucket["id"])
    yield SIGNATURE, key, orjson.dumps((made["features"], made["weights"]))


TABLES = (Several(POSTING, "buckets", _entries),)
