"""What a session knows, asked key by key: the index, and over it what this batch adds.

The index is never scanned: a hit costs one lookup where it is known, two where it is new.
"""

from typing import NamedTuple

import orjson

from varvite import ids
from varvite.graph import frontier
from varvite.graph import landscape_index as index
from varvite.graph.delta import Hit
from varvite.graph.table import Record, state
from varvite.session.kind import Read
from varvite.session.records import REVISIONS


class State(NamedTuple):
    """A node so far: sightings, best rank, the papers that its last sighting named."""

    sightings: int
    best_rank: int | None
    paper_keys: list[str]


class Call(NamedTuple):
    id: str
    attempt: int
    dedup_key: str | None


class Paper(NamedTuple):
    """whole: more than its key is known."""

    id: str
    whole: bool


class Found(NamedTuple):
    """A hit's node. state: None for a new one.

    source_key, package_ref: names of the hit that the node was not known by.
    """

    node_id: str
    state: State | None
    source_key: str | None = None
    package_ref: str | None = None


UNSEEN = State(*index.UNSEEN)


class Known:
    def __init__(self, read: Read) -> None:
        self._read = read
        self._owners: dict[tuple[str, str], str] = {}
        self._states: dict[str, State | None] = {}
        self._papers: dict[str, Paper] = {}
        self._calls: dict[str, Call] = {}
        self._ended: set[str] = set()
        self._written: set[tuple[str, str]] = set()

    def hit(self, hit: Hit) -> Found:
        """The node of a hit: by its source key, else its package_ref, else its very content."""
        package_ref = hit.node.get("package_ref")
        if hit.source_key is None:
            name = index.content_key(hit.node["content"]) if package_ref is None else package_ref
            table = index.SEEN_SOURCE if package_ref is None else index.PACKAGE_REF
            node_id = self._owner(table, name) or ids.derived("variable", table, name)
            self._owners[table, name] = node_id
            return Found(node_id, self.state(node_id))
        node_id = self.node_id("variable", hit.source_key)
        state = self.state(node_id)
        if package_ref is None:
            return Found(node_id, state)
        return self._by_both(hit.source_key, package_ref, node_id, state)

    def _by_both(
        self, source_key: str, package_ref: str, node_id: str, state: State | None
    ) -> Found:
        owner = self._owner(index.PACKAGE_REF, package_ref)
        if owner is None:
            self._owners[index.PACKAGE_REF, package_ref] = node_id
            return Found(node_id, state, package_ref=package_ref if state else None)
        if state is not None:
            return Found(node_id, state)
        self._owners[index.SEEN_SOURCE, source_key] = owner
        return Found(owner, self.state(owner), source_key=source_key)

    def node_id(self, kind: str, source_key: str) -> str:
        """The id of the node with this key, or that it will have."""
        known = self._owners.get((index.SEEN_SOURCE, source_key))
        if known is None:
            known = ids.derived(kind, source_key)
            if self.state(known) is None:
                known = self._owner(index.SEEN_SOURCE, source_key) or known
            self._owners[index.SEEN_SOURCE, source_key] = known
        return known

    def state(self, node_id: str) -> State | None:
        if node_id not in self._states:
            stored = self._read(index.NODE, node_id)
            self._states[node_id] = None if stored is None else State(*orjson.loads(stored))
        return self._states[node_id]

    def see(self, node_id: str, state: State) -> None:
        self._states[node_id] = state

    def paper(self, paper_key: str) -> Paper | None:
        paper = self._papers.get(paper_key)
        if paper is None:
            stored = self._read(index.PAPER, paper_key)
            if stored is not None:
                paper = self._papers[paper_key] = Paper(*orjson.loads(stored))
        return paper

    def add_paper(self, paper_key: str, paper: Paper) -> None:
        self._papers[paper_key] = paper

    def add_content(self, content: str, node_id: str) -> None:
        self._owners[index.SEEN_SOURCE, index.content_key(content)] = node_id

    def call(self, name: str) -> Call | None:
        """The latest call of this id or dedup_key."""
        call = self._calls.get(name)
        if call is None:
            stored = self._read(index.CALL, name)
            call = None if stored is None else Call(*orjson.loads(stored))
        return call

    def add_call(self, dedup_key: str, call: Call) -> None:
        self._calls[dedup_key] = self._calls[call.id] = call

    def answered(self, text: str | None) -> str | None:
        """The only leased call that asks this, where nothing of the batch ended it."""
        call_id = frontier.answered(self._read, text)
        return None if call_id in self._ended else call_id

    def waiting(self, call_id: str) -> Record | None:
        """A call that was added to the frontier, as it stood before the batch."""
        found = state(self._read, frontier.FRONTIER, call_id)
        return found and found | {"status": "done"} if call_id in self._ended else found

    def end(self, call_id: str) -> None:
        self._ended.add(call_id)

    def is_written(self, stream: str, record_id: str) -> bool:
        written = (stream, record_id) in self._written
        return written or self._read(REVISIONS, f"{stream}\0{record_id}") is not None

    def write(self, stream: str, record_id: str) -> None:
        self._written.add((stream, record_id))

    def _owner(self, table: str, name: str) -> str | None:
        known = self._owners.get((table, name))
        if known is None:
            stored = self._read(table, name)
            known = None if stored is None else stored.decode()
        return known
