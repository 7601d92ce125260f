"""Contracts of a graph session's streams. Units: scores are the provider's, ranks count from 1."""

from typing import Literal, Required

from pydantic import with_config
from typing_extensions import TypedDict

from varvite.records.fields import CONFIG, Float, Int, Json


@with_config(CONFIG)
class Node(TypedDict, total=False):
    """A durable thing of the graph. A later revision replaces an earlier one whole.

    content: a factor's is its reasoning, one step a line.
    """

    node_kind: Required[Literal["variable", "paper", "factor", "chain", "package"]]
    source_key: str | None
    paper_key: str | None
    doi: str | None
    variable_type: str | None
    role: str | None
    title: str | None
    content: str | None
    content_hash: str | None
    score: Float | None
    package_ref: str | None
    projection: Literal["none", "planned", "applied", "failed"]
    first_query: str | None
    response_id: str | None
    bucket_ids: list[str]
    metadata: Json | None


@with_config(CONFIG)
class Edge(TypedDict, total=False):
    edge_kind: Required[str]
    src: Required[str]
    dst: Required[str]
    origin: Literal["retrieval", "chain", "assessment", "maintenance", "gaia"]
    status: Literal["active", "retracted"]
    candidate_id: str | None
    evidence_refs: Json | None
    response_id: str | None


@with_config(CONFIG)
class Sighting(TypedDict, total=False):
    """One appearance of a node in one response. `count` and `best_rank` are the node's so far.

    paper_keys: the papers that this appearance named.
    source_key, package_ref: another name that the node came under, first met here.
    bucket_ids: buckets given with the hit.
    """

    node_id: Required[str]
    response_id: str | None
    query: str | None
    rank: Required[Int]
    score: Float | None
    count: Required[Int]
    best_rank: Required[Int]
    paper_keys: list[str]
    source_key: str | None
    package_ref: str | None
    bucket_ids: list[str]


@with_config(CONFIG)
class Frontier(TypedDict, total=False):
    """A call to be made, or made; a failed one stays, and its retry names it.

    dedup_key: what a call and its retries have in common.
    code, message: the provider's, 0 when done.
    hits, new_nodes: of the response; new_nodes counts variables never seen as a hit before.
    source_ids: nodes that the response has whole: papers with their graph, claims with chains.
    lease_until, lease_step: the time and the step at which a lease ends, whichever is first.
    lane, place: where it waits: calls of one lane are leased in the order of their places.
    """

    item_kind: Required[Literal["query", "paper", "claim_chain", "obligation"]]
    dedup_key: str | None
    request: Json | None
    origin: Json | None
    priority: Float | None
    status: Required[Literal["pending", "leased", "done", "failed", "skipped"]]
    attempt: Int
    retry_of: str | None
    lease_until: str | None
    lease_step: Int | None
    lease_by: str | None
    lane: Literal["high", "medium", "low"] | None
    place: Int | None
    response_id: str | None
    code: Int | None
    message: str | None
    trace_id: str | None
    hits: Int | None
    new_nodes: Int | None
    source_ids: list[str]


@with_config(CONFIG)
class Response(TypedDict, total=False):
    """A provider's answer, as text, byte for byte. Private: it has no file of its own.

    envelope: what lay around the payload in its file and is not a field here.
    """

    file: str | None
    line: Int | None
    index_id: str | None
    query: str | None
    code: Int | None
    trace_id: str | None
    envelope: Json | None
    raw: Required[str]


@with_config(CONFIG)
class Event(TypedDict, total=False):
    """What happened in the session, for the audit and for agents that come back."""

    type: Required[str]
    refs: Json | None
    payload: Json | None


CONTRACTS: dict[str, type] = {
    "nodes": Node,
    "edges": Edge,
    "sightings": Sighting,
    "frontier": Frontier,
    "responses": Response,
    "events": Event,
}
