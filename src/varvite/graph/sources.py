"""What a response has whole, on its way into a source package, and back as refs of nodes."""

from collections.abc import Iterator
from typing import Any, Protocol

from varvite.graph.delta import source_key
from varvite.graph.landscape_index import SEEN_SOURCE
from varvite.graph.packets import provider_id
from varvite.graph.port import Outcome, Source
from varvite.graph.table import Record
from varvite.session.kind import Read


class Reading(Protocol):
    """The session, as far as it is read."""

    def nodes(self, ids: list[str]) -> list[dict[str, Any]]: ...

    def response(self, response_id: str) -> dict[str, Any]: ...


def source(session: Reading, projection: Record) -> Source:
    """What the port is asked for."""
    payload = projection["payload"]
    (node,) = session.nodes([projection["subject_id"]])
    response = session.response(payload["response_id"])
    return Source(
        node["id"], payload["kind"], response["index_id"], provider_id(node), response["raw"]
    )


def refs(read: Read, source: Source, outcome: Outcome) -> dict[str, str]:
    """Package refs by node id; a paper is called as its package."""
    if not outcome.ok:
        return {}
    found = {source.node_id: outcome.result["package"]} if source.kind == "paper" else {}
    for name, ref in outcome.result["refs"].items():
        for key in _keys(source, name):
            stored = read(SEEN_SOURCE, key)
            if stored is not None:
                found.setdefault(stored.decode(), ref)
                break
    return found


def _keys(source: Source, name: str) -> Iterator[str]:
    """What a node may be known by that the answer calls so; ids of a paper's graph may be local."""
    yield source_key(source.index_id, "variable", name)
    if source.kind == "paper":
        yield source_key(source.index_id, "variable", f"paper:{source.source_id}::{name}")
