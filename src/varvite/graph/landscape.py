"""From payloads and what the index knows to the records of one batch.

Pure: it reads the index key by key, and the payloads, and nothing else; appending
the records is another's act.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from varvite import ids
from varvite.graph import calls, landscape_index, payloads, steps
from varvite.graph.calls import Origin
from varvite.graph.delta import Fields, Hit, Link, Named
from varvite.graph.known import UNSEEN, Found, Known, Paper, State
from varvite.graph.payloads import Payload
from varvite.session.kind import Read

COUNTED = (
    "responses",
    "repeated",
    "failed",
    "hits",
    "new",
    "seen",
    "named",
    "factors",
    "papers",
    "edges",
)
TOTALLED = tuple(name for name in COUNTED if name != "repeated")
"""What a session counts over all its batches: what was repeated added nothing to it."""

Record = dict[str, Any]


class Arrival(NamedTuple):
    """A variable that the field map has to look at, as it came.

    kind: new, never met before; renewed, a hit that chains alone had named so far; named,
    a repeat that comes with buckets.
    """

    node: Record
    kind: Literal["new", "renewed", "named"]


class Plan(NamedTuple):
    """The records of one batch, none where there is nothing to add.

    counts: responses taken; repeated, which were known and add nothing; failed, which are
    among the responses; hits, of which new ones were never a hit before and seen ones were;
    and new records: named (variables that only chains name so far), factors, papers, edges.
    """

    records: list[Record]
    counts: dict[str, int]
    arrivals: list[Arrival]

    @property
    def event(self) -> Record:
        """What says that the batch was submitted; the last record, where there are any."""
        return self.records[-1]


def plan(given: Iterable[Payload], read: Read, *, key: str | None = None) -> Plan:
    """Work out what the payloads add, in their order.

    Raises:
        MalformedInputError: of the first payload that cannot be taken whole.
    """
    step = _Step(read)
    for payload in given:
        step.take(payload)
    if step.records:
        step.records.append(_event(step.counts, read, key))
    return Plan(step.records, step.counts, step.arrivals)


def _event(counts: dict[str, int], read: Read, key: str | None) -> Record:
    before = orjson.loads(read(landscape_index.TOTAL, landscape_index.TOTAL_KEY) or b"{}")
    totals = {name: before.get(name, 0) + counts[name] for name in TOTALLED}
    payload: Fields = {"counts": counts, "totals": totals}
    if key is not None:
        payload["key"] = key
    return {"stream": "events", "type": steps.SUBMITTED, "payload": payload}


class _Step:
    """One batch in the making."""

    def __init__(self, read: Read) -> None:
        self._known = Known(read)
        self._contents_to = 0
        self.records: list[Record] = []
        self.counts = dict.fromkeys(COUNTED, 0)
        self.arrivals: list[Arrival] = []

    def take(self, payload: Payload) -> None:
        response_id = payloads.response_id(payload)
        if self._known.is_written("responses", response_id):
            self.counts["repeated"] += 1
            return
        delta = payloads.read(payload)
        self._known.write("responses", response_id)
        origin = Origin(response_id, payload.query or delta.query)
        self.records.append(calls.response(payload, delta, origin))
        new_before = self.counts["new"]
        for paper_key, fields in delta.papers.items():
            self._paper(paper_key, fields, origin)
        for hit in delta.hits:
            self._hit(hit, origin)
        for named in delta.named:
            self._name(named, origin)
        for link in delta.links:
            self._link(link, origin)
        new = self.counts["new"] - new_before
        whole = [self._source(kind, source_key) for kind, source_key in delta.sources]
        self.records.append(calls.frontier(payload, delta, origin, self._known, new, whole))
        self.counts["responses"] += 1
        self.counts["failed"] += delta.code != 0
        self.counts["hits"] += len(delta.hits)

    def _hit(self, hit: Hit, origin: Origin) -> None:
        if hit.source_key is None:
            self._learn_contents()
        found = self._known.hit(hit)
        state = found.state
        if state is None or state.sightings == 0:
            self._first_sighting(hit, found, origin)
            state = State(1, hit.rank, hit.paper_keys)
            self.counts["new"] += 1
        else:
            if state.paper_keys != hit.paper_keys:
                self._in_papers(found.node_id, hit.paper_keys, origin)
            best_rank = min(state.best_rank or hit.rank, hit.rank)
            state = State(state.sightings + 1, best_rank, hit.paper_keys)
            self.counts["seen"] += 1
            if hit.bucket_ids:
                self.arrivals.append(Arrival(_as_node(hit, found.node_id), "named"))
        self._known.see(found.node_id, state)
        self.records.append(_sighting(hit, found, state, origin))

    def _first_sighting(self, hit: Hit, found: Found, origin: Origin) -> None:
        node = hit.node
        if hit.source_key is not None:
            node["source_key"] = hit.source_key
        if hit.score is not None:
            node["score"] = hit.score
        if hit.bucket_ids:
            node["bucket_ids"] = hit.bucket_ids
        self._node(node, found.node_id, hit.paper_keys, origin)
        self.arrivals.append(Arrival(node, "renewed" if found.state else "new"))
        self._in_papers(found.node_id, hit.paper_keys, origin, fresh=found.state is None)

    def _name(self, named: Named, origin: Origin) -> None:
        node, kind = named.node, named.node["node_kind"]
        node_id = self._known.node_id(kind, named.source_key)
        if self._known.state(node_id) is not None:
            self._in_papers(node_id, named.paper_keys, origin)
            return
        self._known.see(node_id, UNSEEN)
        node["source_key"] = named.source_key
        self._node(node, node_id, named.paper_keys, origin)
        if kind == "variable":
            self.arrivals.append(Arrival(node, "new"))
        self._in_papers(node_id, named.paper_keys, origin, fresh=True)
        self.counts["factors" if kind == "factor" else "named"] += 1

    def _link(self, link: Link, origin: Origin) -> None:
        src = self._known.node_id(link.src_kind, link.src)
        dst = self._known.node_id(link.dst_kind, link.dst)
        edge_id = ids.derived("edge", link.kind, src, dst)
        if not self._known.is_written("edges", edge_id):
            self._edge(edge_id, link.kind, src, dst, origin)

    def _in_papers(
        self, node_id: str, paper_keys: Sequence[str], origin: Origin, *, fresh: bool = False
    ) -> None:
        """fresh: the node is of this moment, so none of its edges can have been written."""
        for paper_key in paper_keys:
            paper_id = self._paper(paper_key, {}, origin)
            edge_id = ids.derived("edge", "in_paper", node_id, paper_id)
            if fresh or not self._known.is_written("edges", edge_id):
                self._edge(edge_id, "in_paper", node_id, paper_id, origin)

    def _source(self, kind: str, source_key: str) -> str:
        """The id of a node that the response named."""
        paper = self._known.paper(source_key) if kind == "paper" else None
        return paper.id if paper else self._known.node_id(kind, source_key)

    def _paper(self, paper_key: str, fields: Fields, origin: Origin) -> str:
        """The paper's id. One known by its key alone is revised once its title or DOI comes."""
        known = self._known.paper(paper_key)
        whole = "title" in fields or "doi" in fields
        if known is not None and (known.whole or not whole):
            return known.id
        paper = Paper(known.id if known else ids.derived("paper", paper_key), whole)
        node = {"node_kind": "paper", "source_key": paper_key} | fields
        self._node(node, paper.id, (paper_key,), origin)
        self._known.add_paper(paper_key, paper)
        self.counts["papers"] += known is None
        return paper.id

    def _node(self, node: Fields, node_id: str, paper_keys: Sequence[str], origin: Origin) -> None:
        node["stream"] = "nodes"
        node["id"] = node_id
        if paper_keys:
            node["paper_key"] = paper_keys[0]
        if origin.query is not None:
            node["first_query"] = origin.query
        node["response_id"] = origin.response_id
        node["projection"] = "none"
        self.records.append(node)

    def _edge(self, edge_id: str, kind: str, src: str, dst: str, origin: Origin) -> None:
        self._known.write("edges", edge_id)
        self.counts["edges"] += 1
        edge = {
            "stream": "edges",
            "id": edge_id,
            "edge_kind": kind,
            "src": src,
            "dst": dst,
            "origin": "retrieval" if kind == "in_paper" else "chain",
            "status": "active",
            "response_id": origin.response_id,
        }
        self.records.append(edge)

    def _learn_contents(self) -> None:
        """Know this batch's own nodes by content too; only a hit without a key needs it."""
        for record in self.records[self._contents_to :]:
            if record.get("node_kind") == "variable" and "content" in record:
                self._known.add_content(record["content"], record["id"])
        self._contents_to = len(self.records)


def _as_node(hit: Hit, node_id: str) -> Record:
    """A repeat in the shape of a node; the node itself stays as it is."""
    fields = {"id": node_id, "bucket_ids": hit.bucket_ids} | hit.node
    if hit.source_key is not None:
        fields["source_key"] = hit.source_key
    return fields | {"paper_key": hit.paper_keys[0]} if hit.paper_keys else fields


def _sighting(hit: Hit, found: Found, state: State, origin: Origin) -> Record:
    record = {
        "stream": "sightings",
        "node_id": found.node_id,
        "response_id": origin.response_id,
        "rank": hit.rank,
        "count": state.sightings,
        "best_rank": state.best_rank,
        "paper_keys": hit.paper_keys,
    }
    if origin.query is not None:
        record["query"] = origin.query
    if hit.score is not None:
        record["score"] = hit.score
    if found.source_key is not None:
        record["source_key"] = found.source_key
    if found.package_ref is not None:
        record["package_ref"] = found.package_ref
    if hit.bucket_ids:
        record["bucket_ids"] = hit.bucket_ids
    return record
