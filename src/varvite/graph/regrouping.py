"""Acts that bring nodes from bucket to bucket, and that merge and rename buckets.

Each is planned from the index on the nodes and buckets that its payload names, in any order
of the acts of one checkpoint, and adds nothing where all of it holds already. No text is
read: a node brings along the likeness that it had.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from varvite.errors import InputError
from varvite.graph import bucket as buckets
from varvite.graph import focus
from varvite.graph.assigner import Lexical
from varvite.graph.bucket import Bucket
from varvite.graph.changes import BucketChange
from varvite.graph.field_map import EXPLICIT
from varvite.graph.likeness import Likeness
from varvite.graph.membership import ASSIGNED, Membership, Papers
from varvite.graph.parameters import Parameters
from varvite.graph.routes import SIGNATURE, signature_key
from varvite.graph.signature import Signature
from varvite.graph.table import Record
from varvite.graph.upkeep import items, opened
from varvite.session.kind import Now, Plan, Read

PLACE, MOVE, MERGE, RENAME = "place_nodes", "move_nodes", "merge_bucket", "rename_bucket"
METHODS = ("lexical", "embedding")


def place_nodes(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """Put each node of `places`, [node id, bucket id], that waits for a place where it says.

    Raises:
        InputError: too many, or what was never placed or opened.
        SessionStatusError: the session is paused.
    """
    act = _Act(now)
    for one in items(payload, "places"):
        node_id, bucket_id = _texts(one, 2, "places")
        act.place(node_id, act.standing(bucket_id))
    return act.records()


def move_nodes(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """Move `nodes` from the bucket `source` to the bucket `target`, as far as they are there.

    open: what the target is opened as, {label, terms, criteria}, where it is not open.
    exemplars: nodes that may take the place of those that leave, the likest first.

    Raises:
        InputError: too many, or what was never placed or opened.
        SessionStatusError: the session is paused.
    """
    act = _Act(now)
    source, target = act.bucket(_text(payload, "source")), act.target(payload)
    if source.id == target.id:
        raise InputError("nodes move to another bucket", path="target")
    for node_id in _texts(items(payload, "nodes"), None, "nodes"):
        act.move(node_id, source, target)
    if act.changed:
        named = items(payload, "exemplars") if "exemplars" in payload else []
        act.refill(source, _texts(named, None, "exemplars"))
    return act.records()


def merge_bucket(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """End `bucket_id` in the bucket `into`: what is like it, or names it, goes there.

    Its focuses are tied to that one too. Its nodes are moved by acts of their own.

    Raises:
        InputError: a bucket that was never opened, or that would end in itself.
        SessionStatusError: the session is paused.
    """
    act = _Act(now)
    ending, into = act.bucket(_text(payload, "bucket_id")), act.standing(_text(payload, "into"))
    if ending.merged_into is not None:
        return []
    if into.id == ending.id:
        raise InputError(f"bucket {ending.id} cannot end in itself", path="into")
    act.merge(ending, into)
    return act.records()


def rename_bucket(payload: Mapping[str, Any], now: Now) -> list[Record]:
    """Call `bucket_id` by another `label`, as long as it is called what it `was`.

    Raises:
        InputError: a bucket that was never opened, or what is no label.
        SessionStatusError: the session is paused.
    """
    act = _Act(now)
    found, label = act.bucket(_text(payload, "bucket_id")), _text(payload, "label")
    if found.label != _text(payload, "was"):
        return []
    buckets.defined(label, bucket_id=None, criteria="", terms=(), role="", required=False)
    found.opened_as = found.opened_as or found.label
    found.label = label
    return act.records()


ACTS: dict[str, Plan] = {
    PLACE: place_nodes,
    MOVE: move_nodes,
    MERGE: merge_bucket,
    RENAME: rename_bucket,
}


class _Act:
    """One act in the making: the buckets that it looked at, and the members that it changed."""

    def __init__(self, now: Now) -> None:
        self._batch, self._now = opened(now), now
        self._read: Read = now.read
        self._parameters = Parameters.of(now.parameters)
        self._papers = Papers(now.read)
        self._buckets: dict[str, Bucket] = {}
        self._before: dict[str, tuple[Record, str | None]] = {}
        self._signatures: dict[str, list[Record]] = {}
        self.changed: dict[str, Membership] = {}

    def bucket(self, bucket_id: str) -> Bucket:
        return self._known(bucket_id, Bucket.read)

    def standing(self, bucket_id: str) -> Bucket:
        """The bucket, or the one that it was merged into."""
        return self._known(bucket_id, buckets.standing)

    def target(self, payload: Mapping[str, Any]) -> Bucket:
        """The bucket `target`, opened where it is not."""
        bucket_id, words = _text(payload, "target"), payload.get("open")
        if words is None or Bucket.read(self._read, bucket_id) is not None:
            return self.standing(bucket_id)
        made = buckets.defined(
            _text(words, "label"),
            bucket_id=bucket_id,
            criteria=_text(words, "criteria"),
            terms=_texts(words.get("terms"), None, "terms"),
            role="",
            required=False,
        )
        made.unmet_terms = []
        self._buckets[bucket_id] = made
        self._before[bucket_id] = {}, None
        self._signatures[bucket_id] = [Likeness(self._read, Lexical()).record(made)]
        return made

    def place(self, node_id: str, bucket: Bucket) -> None:
        member = self._member(node_id)
        if member.state == ASSIGNED:
            return
        score, _ = member.buckets.get(bucket.id, (0, ""))
        member.state, member.buckets = ASSIGNED, {}
        self._enter(member, bucket, score)

    def move(self, node_id: str, source: Bucket, target: Bucket) -> None:
        member = self._member(node_id)
        if member.state != ASSIGNED or source.id not in member.buckets:
            return
        score, _ = member.buckets.pop(source.id)
        source.drop(node_id, member.facts)
        source.papers -= self._papers.leave(source.id, member.facts.paper_key)
        if target.id in member.buckets:
            self.changed[node_id] = member
        else:
            self._enter(member, target, score)

    def refill(self, source: Bucket, nodes: list[str]) -> None:
        """Let the likest of those that are left be the exemplars: these nodes, or the old ones."""
        scores = dict(source.exemplars)
        places = {node_id: place for place, node_id in enumerate([*nodes, *scores])}
        for node_id in nodes:
            member = self._member(node_id)
            if member.state == ASSIGNED and source.id in member.buckets:
                scores[node_id] = member.buckets[source.id][0]
        best = sorted(scores.items(), key=lambda pair: (-pair[1], places[pair[0]]))
        source.exemplars = best[: self._parameters.exemplars]

    def merge(self, ending: Bucket, into: Bucket) -> None:
        ending.merged_into = into.id
        own, others = self._kept(ending.id), self._kept(into.id)
        self._signatures[ending.id] = [one | {"features": [], "weights": []} for one in own]
        self._signatures[into.id] = _sums(others, own)
        focus.follow(self._batch, ending.id, into.id, self._parameters, self._now.cursor)

    def records(self) -> list[Record]:
        """Memberships, then the buckets that are not as they were, then what focuses make of it."""
        found = [member.record() for member in self.changed.values()]
        changes = []
        for bucket_id, bucket in self._buckets.items():
            before, coverage = self._before[bucket_id]
            made = [bucket.record(self._parameters, one) for one in self._signature(bucket_id)]
            if made[-1] != before:
                found += made
                after = bucket.coverage(self._parameters)
                changes.append(BucketChange(bucket_id, coverage, after, [], controversy=False))
        labels = [one for one in found if one["stream"] == "buckets"]
        if found:
            focus.plan(changes, self._batch, self._parameters, self._now.cursor, buckets=labels)
        return found + self._batch.records

    def _known(self, bucket_id: str, find: Callable[[Read, str], Bucket | None]) -> Bucket:
        found = find(self._read, bucket_id)
        if found is None:
            raise InputError(f"no bucket {bucket_id[:80]!r}", path="bucket_id")
        if found.id not in self._buckets:
            self._buckets[found.id] = found
            signature = self._kept(found.id)[0]
            coverage = found.coverage(self._parameters)
            self._before[found.id] = found.record(self._parameters, signature), coverage
        return self._buckets[found.id]

    def _member(self, node_id: str) -> Membership:
        found = self.changed.get(node_id) or Membership.read(self._read, node_id)
        if found is None:
            raise InputError(f"node {node_id[:80]!r} has no place to leave", path="nodes")
        return found

    def _enter(self, member: Membership, bucket: Bucket, score: int) -> None:
        member.buckets[bucket.id] = (score, EXPLICIT)
        bucket.take(member.node_id, member.facts, score, self._parameters.exemplars)
        bucket.papers += self._papers.enter(bucket.id, member.facts.paper_key)
        self.changed[member.node_id] = member

    def _signature(self, bucket_id: str) -> list[Record]:
        return self._signatures.get(bucket_id) or self._kept(bucket_id)[:1]

    def _kept(self, bucket_id: str) -> list[Record]:
        """The bucket's signatures in the index, of each method that knows it."""
        found = ((one, self._read(SIGNATURE, signature_key(one, bucket_id))) for one in METHODS)
        pairs = [(method, *orjson.loads(stored)) for method, stored in found if stored]
        return [dict(zip(("method", "features", "weights"), one, strict=True)) for one in pairs]


def _sums(one: list[Record], other: list[Record]) -> list[Record]:
    """The sums of two buckets' signatures, method by method."""
    added = {each["method"]: each for each in other}
    return [_sum(each, added.get(each["method"])) for each in one]


def _sum(one: Record, other: Record | None) -> Record:
    weights = dict(zip(one["features"], one["weights"], strict=True))
    if other is not None:
        for feature, weight in zip(other["features"], other["weights"], strict=True):
            weights[feature] = weights.get(feature, 0) + weight
    features, heaviest = Signature(weights).ordered()
    return {"method": one["method"], "features": features, "weights": heaviest}


def _text(payload: Any, name: str) -> str:
    value = payload.get(name) if isinstance(payload, dict) else None
    if not isinstance(value, str):
        raise InputError(f"{name}: expected text", path=name)
    return value


def _texts(value: Any, count: int | None, path: str) -> list[str]:
    texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
    if not texts or count not in {None, len(value)}:
        raise InputError(f"{path}: expected ids, not {str(value)[:80]}", path=path)
    return list(value)
