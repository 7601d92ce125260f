"""The growth log of a Gaia package that grew by search: its decisions, one a line.

Every kind of decision has its row in DECISIONS; docs/graph.md has the same table. Several
actors write such a log and each counts for itself, so its `seq` is no order: lines are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from varvite.adapters import quarantine
from varvite.adapters.following import FollowedFile, lines, take
from varvite.adapters.lines import Line, opened, resumed
from varvite.adapters.quarantine import UnreadableError
from varvite.disk import strict_json
from varvite.errors import VarviteError
from varvite.records.foreign import LogBatch, LogCursor
from varvite.records.limits import check

Becomes = Literal["candidate", "event"]
TEXT_CHARS_MAX = 4_000


class Rule(NamedTuple):
    """What a kind of decision becomes, besides the event that keeps it whole."""

    becomes: Becomes
    relation_type: str | None = None
    pattern: str | None = None


_EVENT = Rule("event")
DECISIONS: dict[str, Rule] = {
    "accepted_claim": Rule("candidate", "claim"),
    "accepted_deduction": Rule("candidate", "deduction"),
    "accepted_support": Rule("candidate", "supports"),
    "accepted_contradiction": Rule("candidate", "opposes", "contradict"),
    "candidate_considered": _EVENT,
    "dismissed": _EVENT,
    "hypothesis_added": _EVENT,
    "hypothesis_only": _EVENT,
    "keep_distinct": _EVENT,
    "package_initialized": _EVENT,
    "prior_added": _EVENT,
    "quality_gate_result": _EVENT,
    "repair": _EVENT,
    "round_close": _EVENT,
    "round_open": _EVENT,
    "selected_root": _EVENT,
    "stage_transition": _EVENT,
    "support_not_found": _EVENT,
    "user_selection_checkpoint_closed": _EVENT,
    "user_selection_checkpoint_opened": _EVENT,
}
"""Whatever the kind, what its graph_delta removes is demoted."""
_DELTA = {
    "nodes_added": ("id",),
    "nodes_removed": ("id",),
    "edges_added": ("from", "to"),
    "edges_removed": ("from", "to"),
}
"""The parts of a graph_delta, and the texts that make an item of each one."""


class GrowthLog(FollowedFile):
    """A growth log. One batch a line."""

    def read(self, after: LogCursor | None) -> Iterator[LogBatch]:
        """The lines after a cursor. Reads the bytes before it too, to compare their hash.

        Raises:
            NotFoundError, InputError, LimitError: .file
        """
        with opened(self.path, self._files) as log:
            splitter = resumed(log, self.source, after)
            chunks = log.chunks(splitter.cursor.offset)
            for line in lines(chunks, splitter, closed=self._closed):
                batch = LogBatch(splitter.cursor)
                take(line, splitter, batch, lambda place: _event(line, place))  # noqa: B023
                yield batch
            yield LogBatch(splitter.cursor, unfinished=splitter.unfinished)


def _event(line: Line, place: Mapping[str, Any]) -> dict[str, Any]:
    """What a session is told of a line.

    {stream, decision, becomes, relation_type, pattern, event_id, claim, rationale, label,
    added, removed, edges, cut, unread, event}, and the place. added and removed are node ids
    of the log's own; edges, added, and cut, removed, are (kind, from, to). unread: paths of
    what should be one of these.
    """
    entry = _decoded(line, place["source"])
    decision = _text(entry, "decision") or _unknown_shape("it has no decision")
    rule = DECISIONS.get(decision, _EVENT)
    delta, unread = _delta(entry)
    added = delta["nodes_added"]
    made = {
        "stream": "growth",
        "decision": decision,
        "known": decision in DECISIONS,
        "becomes": rule.becomes,
        "relation_type": rule.relation_type,
        "pattern": rule.pattern,
        "event_id": _text(entry, "event_id"),
        "claim": _claim(added, decision),
        "rationale": (_text(entry, "notes") or decision)[:TEXT_CHARS_MAX],
        "label": _label(entry, added),
        "added": [node["id"] for node in added],
        "removed": [node["id"] for node in delta["nodes_removed"]],
        "edges": [_edge(edge) for edge in delta["edges_added"]],
        "cut": [_edge(edge) for edge in delta["edges_removed"]],
        "unread": unread,
        "event": entry,
    }
    return made | dict(place)


def _decoded(line: Line, source: str) -> dict[str, Any]:
    try:
        line.data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError("not_utf8", str(error)) from None
    try:
        entry = strict_json.loads(line.data, file=source, line=line.number)
        check(entry)
    except VarviteError as error:
        raise UnreadableError("malformed", error.message) from None
    if not isinstance(entry, dict):
        raise UnreadableError("not_an_object", "the line is no object")
    if quarantine.too_long(entry, line.data):
        raise UnreadableError("too_long", "the line makes a record over the limit")
    return entry


def _delta(entry: Mapping[str, Any]) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """What was added and removed, by name, and the paths of what cannot be told."""
    given, path = entry.get("graph_delta"), "$.graph_delta"
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _DELTA}
    if not isinstance(given, dict):
        return found, [] if given is None else [path]
    unread = []
    for name, needed in _DELTA.items():
        items = given.get(name) or []
        if not isinstance(items, list):
            unread.append(f"{path}.{name}")
            continue
        for place, one in enumerate(items):
            if isinstance(one, dict) and all(_text(one, field) for field in needed):
                found[name].append(one)
            else:
                unread.append(f"{path}.{name}[{place}]")
    return found, unread


def _claim(added: Sequence[Mapping[str, Any]], decision: str) -> str:
    """The words of what was added: excerpts, or labels where there are none."""
    texts = [_text(node, "content_excerpt") or _text(node, "label") or node["id"] for node in added]
    return "\n".join(texts)[:TEXT_CHARS_MAX] or decision


def _label(entry: Mapping[str, Any], added: Sequence[Mapping[str, Any]]) -> str:
    for action in _objects(entry, "gaia_actions"):
        symbol = _text(action, "symbol")
        if symbol:
            return symbol
    return str(added[0]["id"]) if added else str(entry.get("event_id"))


def _edge(edge: Mapping[str, Any]) -> list[str]:
    return [_text(edge, "kind") or "related", edge["from"], edge["to"]]


def _text(owner: Mapping[str, Any], name: str) -> str | None:
    value = owner.get(name)
    return value if isinstance(value, str) and value else None


def _objects(owner: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = owner.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _unknown_shape(reason: str) -> str:
    raise UnreadableError("unknown_shape", reason)
