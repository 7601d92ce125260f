"""From what a step brought to what it changes in the field map.

Pure, and bounded: a new node costs the lookups of `Routes`, a touched bucket one record.
Nodes are taken in their order, one by one, so that it makes no difference how they
came in batches.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, NoReturn

from varvite.errors import LimitError, MalformedInputError, StateConflictError
from varvite.graph import bucket as buckets
from varvite.graph import features
from varvite.graph.assigner import Assigner
from varvite.graph.bucket import Bucket, Facts
from varvite.graph.changes import BucketChange
from varvite.graph.landscape import Arrival
from varvite.graph.likeness import Likeness
from varvite.graph.membership import (
    AMBIGUOUS,
    ASSIGNED,
    CANDIDATE,
    Membership,
    Papers,
)
from varvite.graph.parameters import Parameters
from varvite.graph.signature import SCALE, Weighed
from varvite.graph.table import Record
from varvite.session.kind import Read

EXPLICIT = "explicit"
OPPOSING = frozenset(
    ("conflict", "contradict", "contradicts", "contradiction", "opposes", "refutes", "undercuts")
)
"""Edge kinds, roles and channels (`metadata.channel`) of what speaks against something."""


COUNTED = ("assigned", "ambiguous", "candidates")


class FieldPlan(NamedTuple):
    """The records of one step, and the buckets that it touched, in the order of touching.

    assigned, ambiguous, candidates: nodes that this step placed.
    """

    records: list[Record]
    changes: list[BucketChange]
    assigned: int = 0
    ambiguous: int = 0
    candidates: int = 0

    def counts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in COUNTED}


def plan(
    arrivals: Sequence[Arrival],
    edges: Iterable[Record],
    read: Read,
    parameters: Parameters,
    assigner: Assigner,
) -> FieldPlan:
    """What nodes and edges of one batch change in the field map.

    A session without buckets has no field map.

    Raises:
        MalformedInputError: a hit names a bucket that is not open.
        LimitError: a hit names more buckets than a node goes to.
    """
    if not buckets.count(read) and not any(one.node.get("bucket_ids") for one in arrivals):
        return FieldPlan([], [])
    step = _Step(read, parameters, assigner)
    step.take(arrivals)
    for edge in edges:
        step.oppose(edge)
    return step.plan()


def opening(made: Bucket, read: Read, parameters: Parameters, assigner: Assigner) -> FieldPlan:
    """The record that opens a bucket; none where it is open and means the same.

    Raises:
        StateConflictError: it is open and means something else.
    """
    known = Bucket.read(read, made.id)
    if known is None:
        signature = Likeness(read, assigner).record(made)
        change = BucketChange(made.id, None, made.coverage(parameters), [], controversy=False)
        return FieldPlan([made.record(parameters, signature)], [change])
    if known.meaning() != made.meaning():
        raise StateConflictError(
            f"bucket {made.id} is open, and means something else",
            hint="give another label or bucket_id; what a bucket means is revised in a checkpoint",
        )
    return FieldPlan([], [])


class _Touched:
    def __init__(self, bucket: Bucket, before: str) -> None:
        self.bucket, self.before = bucket, before
        self.new: list[Record] = []
        self.controversy = False


class _Step:
    """One batch in the making."""

    def __init__(self, read: Read, parameters: Parameters, assigner: Assigner) -> None:
        self._read, self._parameters = read, parameters
        self._likeness = Likeness(read, assigner)
        self._by_words = assigner.method == "lexical"
        self._touched: dict[str, _Touched] = {}
        self._members: dict[str, Membership] = {}
        self._changed: dict[str, Membership] = {}
        self._papers = Papers(read)
        self._leads: dict[str, str] = {}
        self._placed = dict.fromkeys((ASSIGNED, AMBIGUOUS, CANDIDATE), 0)

    def take(self, arrivals: Sequence[Arrival]) -> None:
        found = self._likeness.features([_text(one.node) for one in arrivals])
        for arrival, raw in zip(arrivals, found, strict=True):
            member = None if arrival.kind == "new" else self._member(arrival.node["id"])
            if member is None:
                self._place(arrival.node, raw)
                continue
            if arrival.kind == "renewed":
                self._recount(member, _facts(arrival.node))
            self._join(member, arrival.node, raw)

    def oppose(self, edge: Record) -> None:
        """Mark the buckets at both ends of an edge that sets one against the other."""
        if edge["edge_kind"] not in OPPOSING:
            return
        for end in (edge["src"], edge["dst"]):
            member = self._member(end)
            if member is not None and member.state == ASSIGNED:
                for bucket_id in member.buckets:
                    self._touch(bucket_id).controversy = True

    def plan(self) -> FieldPlan:
        records = [member.record() for member in self._changed.values()]
        changes = []
        for bucket_id, one in self._touched.items():
            signature = self._likeness.record(one.bucket)
            record = one.bucket.record(self._parameters, signature)
            after = record["coverage_status"]
            records.append(record)
            changes.append(BucketChange(bucket_id, one.before, after, one.new, one.controversy))
        records += self._likeness.learned()
        return FieldPlan(records, changes, *self._placed.values())

    def _place(self, node: Record, raw: Mapping[int, int]) -> None:
        """Find a place for a node that has none."""
        weighed = self._likeness.weigh(raw)
        member = Membership(node["id"], CANDIDATE, facts=_facts(node))
        if node.get("bucket_ids"):
            self._enter_named(member, node, raw, weighed)
        else:
            self._enter_near(member, node, raw, weighed)
        self._keep(member)
        self._placed[member.state] += 1

    def _enter_near(
        self, member: Membership, node: Record, raw: Mapping[int, int], weighed: Weighed
    ) -> None:
        state, near = self._judged(self._likeness.nearest(weighed))
        member.state = state
        for score, bucket_id in near[: self._parameters.buckets_per_node]:
            member.buckets[bucket_id] = (score, self._likeness.method)
            if state == ASSIGNED:
                self._enter(bucket_id, member, node, raw, weighed)

    def _judged(self, near: list[tuple[int, str]]) -> tuple[str, list[tuple[int, str]]]:
        """The buckets that a node is in; else those that it may be in; else none."""
        for state, least in (
            (ASSIGNED, self._parameters.assign_at),
            (AMBIGUOUS, self._parameters.ambiguous_at),
        ):
            enough = [pair for pair in near if pair[0] >= least * SCALE]
            if enough:
                return state, enough
        return CANDIDATE, []

    def _join(self, member: Membership, node: Record, raw: Mapping[int, int]) -> None:
        """Bring a node that has a place into the buckets that are named with it, too."""
        if not set(self._named(node)) <= _assigned(member):
            if member.state != ASSIGNED:
                member.buckets.clear()
            self._enter_named(member, node, raw, self._likeness.weigh(raw))
            self._keep(member)

    def _enter_named(
        self, member: Membership, node: Record, raw: Mapping[int, int], weighed: Weighed
    ) -> None:
        named = self._named(node)
        if len(named) > self._parameters.buckets_per_node:
            _refuse_many(node, self._parameters.buckets_per_node)
        member.state = ASSIGNED
        for bucket_id in named:
            if bucket_id not in member.buckets:
                score = self._likeness.to(self._touch(bucket_id, node).bucket, weighed)
                member.buckets[bucket_id] = (score, EXPLICIT)
                self._enter(bucket_id, member, node, raw, weighed)

    def _enter(
        self,
        bucket_id: str,
        member: Membership,
        node: Record,
        raw: Mapping[int, int],
        weighed: Weighed,
    ) -> None:
        touched = self._touch(bucket_id)
        bucket, score = touched.bucket, member.buckets[bucket_id][0]
        bucket.take(member.node_id, member.facts, score, self._parameters.exemplars)
        bucket.papers += self._papers.enter(bucket_id, member.facts.paper_key)
        self._likeness.add(bucket, weighed)
        if bucket.unmet_terms:
            bucket.meet(raw.keys() if self._by_words else features.of(_text(node)))
        touched.new.append(node)
        touched.controversy |= _opposes(node)

    def _named(self, node: Record) -> list[str]:
        """The buckets that are named with a node; of a merged one that which it became."""
        return list(dict.fromkeys(self._open(one, node) for one in node.get("bucket_ids", ())))

    def _open(self, bucket_id: str, node: Record) -> str:
        if bucket_id not in self._leads:
            found = buckets.standing(self._read, bucket_id)
            if found is None:
                _refuse_unknown(bucket_id, node)
            self._leads[bucket_id] = found.id
        return self._leads[bucket_id]

    def _recount(self, member: Membership, facts: Facts) -> None:
        """Count a node by what its first hit tells, where chains alone had named it."""
        if facts == member.facts:
            return
        if member.state == ASSIGNED:
            for bucket_id in member.buckets:
                bucket = self._touch(bucket_id).bucket
                bucket.recount(member.facts, facts)
                bucket.papers += self._papers.enter(bucket_id, facts.paper_key)
                bucket.papers -= self._papers.leave(bucket_id, member.facts.paper_key)
        member.facts = facts
        self._keep(member)

    def _touch(self, bucket_id: str, node: Record | None = None) -> _Touched:
        if bucket_id not in self._touched:
            bucket = Bucket.read(self._read, bucket_id)
            if bucket is None:
                _refuse_unknown(bucket_id, node)
            before = bucket.coverage(self._parameters)
            self._touched[bucket_id] = _Touched(bucket, before)
        return self._touched[bucket_id]

    def _member(self, node_id: str) -> Membership | None:
        return self._members.get(node_id) or Membership.read(self._read, node_id)

    def _keep(self, member: Membership) -> None:
        self._members[member.node_id] = self._changed[member.node_id] = member


def _text(node: Record) -> str:
    return f"{node.get('title', '')}\n{node.get('content', '')}"


def _facts(node: Record) -> Facts:
    return Facts(*(node.get(name) for name in Facts._fields))


def _assigned(member: Membership) -> set[str]:
    return set(member.buckets) if member.state == ASSIGNED else set()


def _opposes(node: Record) -> bool:
    return bool(OPPOSING & {node.get("role"), (node.get("metadata") or {}).get("channel")})


def _refuse_unknown(bucket_id: str, node: Record | None) -> NoReturn:
    raise MalformedInputError(
        f"{_place(node)} names bucket {bucket_id[:80]!r}, which is not open",
        hint="open the bucket first, then submit again",
        path="bucket_ids",
    )


def _refuse_many(node: Record, limit: int) -> NoReturn:
    raise LimitError(
        f"{_place(node)} names {len(node['bucket_ids'])} buckets; a node goes to {limit}",
        hint="name fewer, or make the session with more `buckets_per_node`",
        path="bucket_ids",
        limit=limit,
    )


def _place(node: Record | None) -> str:
    known_by = ("source_key", "package_ref", "id")
    return next((f"hit {node[name]}" for name in known_by if node and node.get(name)), "a hit")
