"""Evidence packets: for one focus, the few newest and best pieces of evidence.

New evidence comes before what a packet showed already, the better before the worse.
A packet has no scores: whoever judges the evidence is not to be told what to think.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from varvite import ids
from varvite.graph.delta import filled
from varvite.graph.parameters import Parameters
from varvite.graph.table import Record, Table, state
from varvite.session.kind import Read

EVIDENCE, PACKET = "focus_evidence", "packet"
PENDING, ASSESSED = "pending", "assessed"
_COPIED = ("variable_type", "role", "title", "package_ref")


class Packet(NamedTuple):
    """allowed_refs: what an answer may use, {kind, id, node_id, value_type, ref}."""

    id: str
    focus_id: str
    number: int
    status: str
    question: str
    evidence: list[Record]
    allowed_refs: list[Record]
    triggers: list[str]


class Window(NamedTuple):
    """What a focus's packet shows, in the order of arrival: refs with scores, and texts.

    displaced: refs that were shown as new, and that better evidence took the place of.
    entered: the ids of new evidence that is in it.
    """

    refs: list[Record]
    evidence: list[Record]
    displaced: list[Record]
    entered: set[str]


def latest(read: Read, focus_id: str) -> Record | None:
    """The focus's last packet, pending or not, with its `id`."""
    return state(read, EVIDENCE, focus_id)


def find(read: Read, packet_id: str) -> tuple[str, str] | None:
    """The focus and the status of a packet."""
    stored = state(read, PACKET, packet_id)
    return None if stored is None else (stored["focus_id"], stored["status"])


def as_packet(stored: Record) -> Packet:
    return Packet(
        stored["id"],
        stored["focus_id"],
        stored["number"],
        stored["status"],
        stored["question"],
        stored["evidence"],
        allowed_refs(stored),
        stored["triggers"],
    )


def window(
    refs: list[Record], shown: list[Record], nodes: Iterable[Record], parameters: Parameters
) -> Window:
    """The best of what was shown (`refs` beside `shown`) and of the nodes that are new."""
    old = {ref["node_id"]: (ref, text) for ref, text in zip(refs, shown, strict=True)}
    fresh = {node["id"]: node for node in nodes}
    order = [*old, *(one for one in fresh if one not in old)]

    def rank(node_id: str) -> tuple[bool, float]:
        if node_id in fresh:
            return (False, -score(fresh[node_id]))
        return (not old[node_id][0]["new"], -old[node_id][0]["score"])

    best = set(sorted(order, key=rank)[: parameters.evidence])
    held = [
        (_ref(fresh[one]), _evidence(fresh[one], parameters.excerpt_chars))
        if one in fresh
        else old[one]
        for one in order
        if one in best
    ]
    out = [_short(text) for one, (ref, text) in old.items() if one not in best and ref["new"]]
    return Window([one[0] for one in held], [one[1] for one in held], out, best & fresh.keys())


def record(focus_id: str, focus: Record, held: Window, before: Record | None) -> tuple[str, Record]:
    """The packet's id and fields: a revision of the pending one, or the next."""
    pending = before if before is not None and before["status"] == PENDING else None
    number = pending["number"] if pending else focus["packets"] + 1
    earlier = pending["displaced"] if pending else []
    shown = {one["node_id"] for one in held.evidence}
    displaced = [one for one in (*earlier, *held.displaced) if one["node_id"] not in shown]
    fields = {
        "focus_id": focus_id,
        "number": number,
        "status": PENDING,
        "question": focus["question"],
        "evidence": held.evidence,
        "displaced": displaced[-len(held.evidence) :] if held.evidence else [],
        "triggers": focus["triggers"],
        "cause": focus["cause"],
    }
    return ids.derived("packet", focus_id, str(number)), fields


def allowed_refs(packet: Record) -> list[Record]:
    """What an answer to the packet may name: its evidence, their papers, its focus."""
    evidence = [_allowed(one) for one in (*packet["displaced"], *packet["evidence"])]
    papers = {
        one["paper_key"]: {
            "kind": "paper",
            "id": one["paper_key"].rpartition(":")[2],
            "node_id": ids.derived("paper", one["paper_key"]),
        }
        for one in packet["evidence"]
        if "paper_key" in one
    }
    return [*evidence, *papers.values(), {"kind": "focus", "id": packet["focus_id"]}]


def _allowed(one: Record) -> Record:
    return {
        "kind": one["kind"],
        "id": one["id"],
        "node_id": one["node_id"],
    } | filled(value_type=one.get("variable_type"), ref=one.get("package_ref"))


def _ref(node: Record) -> Record:
    return {
        "kind": node["node_kind"],
        "id": provider_id(node),
        "node_id": node["id"],
        "score": score(node),
        "new": True,
    }


def score(node: Record) -> float:
    """The provider's; 0 where it gave none."""
    return float(node.get("score") or 0.0)


def provider_id(node: Record) -> str:
    """What the provider calls a node: the last part of `lkm:<index>:<kind>:<id>`; else its id."""
    parts = str(node.get("source_key") or "").split(":", 3)
    return parts[3] if len(parts) == 4 else str(node["id"])  # noqa: PLR2004


def _evidence(node: Record, chars: int) -> Record:
    content = node.get("content") or ""
    cut = len(content) > chars
    head = {"kind": node["node_kind"], "id": provider_id(node), "node_id": node["id"]}
    copied = filled(**{name: node.get(name) for name in _COPIED})
    text = {"content": content[:chars]} | ({"cut": True} if cut else {})
    return head | copied | filled(paper_key=node.get("paper_key")) | text | {"new": True}


def _short(evidence: Record) -> Record:
    names = ("kind", "id", "node_id", "variable_type", "package_ref")
    return {name: evidence[name] for name in names if name in evidence}


def settled(packet: Record) -> Record:
    """The packet's fields once it is assessed: nothing in it is new any more."""
    fields = {name: value for name, value in packet.items() if name != "id"}
    evidence = [one | {"new": False} for one in packet["evidence"]]
    return fields | {"status": ASSESSED, "evidence": evidence}


def _latest(packet: Record, _read: Read) -> bytes:
    own: dict[str, Any] = {
        name: packet[name] for name in ("id", "focus_id", "number", "status", "question")
    }
    rest = ("evidence", "displaced", "triggers", "cause")
    return orjson.dumps(own | {name: packet[name] for name in rest})


def _status(packet: Record, _read: Read) -> bytes:
    return orjson.dumps({"focus_id": packet["focus_id"], "status": packet["status"]})


TABLES = (
    Table(EVIDENCE, "packets", lambda packet: (packet["focus_id"],), _latest),
    Table(PACKET, "packets", lambda packet: (packet["id"],), _status),
)
