"""What a session knows of its landscape: nodes by every name, calls, and what was submitted."""

from collections.abc import Callable, Iterable
from hashlib import sha256

import orjson

from varvite.graph.steps import SUBMITTED
from varvite.graph.table import Record, Table
from varvite.session.kind import Read

SEEN_SOURCE, PAPER, PACKAGE_REF, NODE = "seen_source", "paper", "package_ref", "node"
CALL, SUBMISSION, TOTAL = "call", "submission", "total"
WHOLE = "whole_source"
"""The last response that has a source whole, by the source's node id."""
TOTAL_KEY = "all"
UNSEEN: tuple[int, None, list[str]] = (0, None, [])
"""The state of a node that was never a hit: sightings, best rank, papers it was seen in."""


def content_key(content: str) -> str:
    """What a node without a source key is known by."""
    return f"content:{sha256(content.encode()).hexdigest()}"


def _id(record: Record, _read: Read) -> bytes:
    return bytes(record["id"], "ascii")


def _node_id(record: Record, _read: Read) -> bytes:
    return bytes(record["node_id"], "ascii")


def _source_keys(node: Record) -> Iterable[str]:
    """The last node of some content is the one that a hit without a key is taken for."""
    kind = node["node_kind"]
    keys = (node["source_key"],) if kind != "paper" and "source_key" in node else ()
    if kind != "variable" or "content" not in node:
        return keys
    return (*keys, content_key(node["content"]))


def _state(node: Record, read: Read) -> bytes:
    stored = read(NODE, node["id"]) if node["rev"] else None
    return stored or orjson.dumps(UNSEEN)


def _seen(sighting: Record, _read: Read) -> bytes:
    return orjson.dumps((sighting["count"], sighting["best_rank"], sighting.get("paper_keys", ())))


def _paper(node: Record, _read: Read) -> bytes:
    return orjson.dumps((node["id"], "title" in node or "doi" in node))


def _call(frontier: Record, _read: Read) -> bytes:
    return orjson.dumps((frontier["id"], frontier.get("attempt", 1), frontier.get("dedup_key")))


def _response(call: Record, _read: Read) -> bytes:
    return bytes(call["response_id"], "ascii")


def _field(name: str) -> Callable[[Record], Iterable[str]]:
    return lambda record: (record[name],) if record.get(name) is not None else ()


def _submitted(event: Record) -> bool:
    return bool(event["type"] == SUBMITTED)


TABLES = (
    Table(SEEN_SOURCE, "nodes", _source_keys, _id),
    Table(SEEN_SOURCE, "sightings", _field("source_key"), _node_id),
    Table(PACKAGE_REF, "nodes", _field("package_ref"), _id),
    Table(PACKAGE_REF, "sightings", _field("package_ref"), _node_id),
    Table(PAPER, "nodes", lambda n: (n["paper_key"],) if n["node_kind"] == "paper" else (), _paper),
    Table(NODE, "nodes", lambda n: (n["id"],) if n["node_kind"] != "paper" else (), _state),
    Table(NODE, "sightings", _field("node_id"), _seen),
    Table(CALL, "frontier", lambda f: (f["id"], *_field("dedup_key")(f)), _call),
    Table(WHOLE, "frontier", lambda f: f.get("source_ids") or (), _response),
    Table(
        SUBMISSION,
        "events",
        lambda e: _field("key")(e["payload"]) if _submitted(e) else (),
        lambda e, _read: orjson.dumps((e["payload"]["counts"], e["payload"].get("touched", {}))),
    ),
    Table(
        TOTAL,
        "events",
        lambda e: (TOTAL_KEY,) if _submitted(e) else (),
        lambda e, _read: orjson.dumps(e["payload"]["totals"]),
    ),
)
