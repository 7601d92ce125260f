"""What an answer to a packet comes to: candidates, repair contexts, and whether it is done."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from varvite import ids
from varvite.errors import LimitError, RecordNotFoundError, StateConflictError
from varvite.graph import assess, candidates, focus, obligations, outbox, packets, repair
from varvite.graph.assess import Draft, Grounds
from varvite.graph.batch import Batch
from varvite.graph.delta import filled
from varvite.graph.packets import ASSESSED, Packet
from varvite.graph.parameters import Parameters
from varvite.graph.table import Record, Table
from varvite.session.kind import Read

ANSWER, ANSWERED = "answer", "packet.answered"
DRAFTS_MAX = 64
"""Drafts in one answer, and open repair contexts that a packet may have."""


class Assessed(NamedTuple):
    """Ids of what was made. advanced: the packet is done, and the focus goes on."""

    packet_id: str
    candidates: list[str]
    repairs: list[str]
    obligations: list[str]
    advanced: bool


def find(batch: Batch, packet_id: str) -> Packet:
    """The packet that an answer is for.

    Raises:
        RecordNotFoundError
        StateConflictError: it was answered.
    """
    found = packets.find(batch.read, packet_id)
    if found is None:
        raise RecordNotFoundError(
            f"no packet {packet_id[:80]!r}", hint="`varvite graph packets` lists those that wait"
        )
    stored = packets.latest(batch.read, found[0])
    if found[1] == ASSESSED or stored is None or stored["id"] != packet_id:
        raise StateConflictError(
            f"packet {packet_id} is assessed", hint="new evidence makes another one"
        )
    return packets.as_packet(stored)


def plan(
    batch: Batch, packet_id: str, given: Sequence[Any], parameters: Parameters, at_seq: int
) -> Assessed:
    """Take an answer: each draft on its own, in order. None at all says there is no relation.

    The task is done once no draft of it waits for repair. Reads a few keys for each
    draft and each claim that it relates.

    Raises:
        MalformedInputError: a draft has not the shape of one; nothing is kept.
        RecordNotFoundError, StateConflictError, LimitError
    """
    packet = find(batch, packet_id)
    _refuse_many(len(given) + len(repair.open_ones(batch.read, packet_id)))
    grounds = assess.grounds(packet, parameters.evidence)
    made = Assessed(packet_id, [], [], [], advanced=False)
    for position, one in enumerate(given):
        _take(batch, packet, assess.draft(one, f"$[{position}]"), grounds, parameters, made)
    for candidate_id in made.candidates:
        made.obligations.extend(_oblige(batch, candidate_id, parameters, at_seq))
    return made._replace(advanced=settle(batch, packet, parameters, at_seq))


def _take(
    batch: Batch,
    packet: Packet,
    draft: Draft,
    grounds: Grounds,
    parameters: Parameters,
    made: Assessed,
) -> None:
    own = assess.candidate_id(draft, grounds)
    known = candidates.exists(batch.read, own)
    found = assess.faults(draft, grounds, known=known)
    repairs = repair.answered(batch.read, packet, draft, own)
    number = repair.attempt(batch.read, repairs)
    if found:
        made.repairs.append(repair.add(batch, packet, draft, found, own, repairs, parameters))
        return
    batch.add("candidates", own, _candidate(draft, own, grounds, packet, number, repairs))
    made.candidates.append(own)
    if repairs is not None:
        repair.close(batch, repairs, "resolved", own)
    _relate(batch, own)


def _candidate(
    draft: Draft, own: str, grounds: Grounds, packet: Packet, number: int, repairs: str | None
) -> Record:
    named = [grounds.refs[grounds.node_ids[ref]] for ref in draft.source_refs]
    return {
        "relation_type": draft.relation_type,
        "status": "candidate",
        "validation": "valid",
        "claim": draft.claim,
        "label": draft.label or f"cr_{own.partition('_')[2][:12]}",
        "focus_id": packet.focus_id,
        "packet_id": packet.id,
        "claim_refs": [grounds.node_ids[ref] for ref in draft.claim_refs],
        "source_refs": named,
        "promotion_hint": draft.hint,
        "attempt": number,
        "origin": "assessment",
    } | filled(
        pattern=assess.pattern(draft),
        rationale=draft.rationale,
        epistemic_status=draft.epistemic_status,
        repairs=repairs,
    )


def _relate(batch: Batch, candidate_id: str) -> None:
    """Add the candidate's edges, and plan what it has to become in Gaia, its claims first."""
    found = candidates.load(batch.read, candidate_id)
    if found["relation_type"] not in assess.RELATING:
        return
    edges(batch, candidate_id, found, "active")
    claims = found["claim_refs"]
    outbox.accept(batch, claims)
    outbox.plan(batch, "candidate", candidate_id, {"claims": claims})


def edges(batch: Batch, candidate_id: str, candidate: Record, status: str) -> None:
    """The candidate's relation as edges, from its first claim to each other one."""
    first, *others = candidate["claim_refs"]
    for other in others:
        kind = candidate["relation_type"]
        fields = {
            "edge_kind": kind,
            "src": first,
            "dst": other,
            "origin": "assessment",
            "status": status,
            "candidate_id": candidate_id,
        }
        batch.add("edges", ids.derived("edge", kind, first, other, candidate_id), fields)


def retract(batch: Batch, candidate_id: str, candidate: Record) -> None:
    """Take back the candidate's edges: its own, or those that its import brought."""
    if candidate["origin"] == "import":
        for edge_id, fields in candidate["gaia"].get("edges") or []:
            batch.add("edges", edge_id, fields | {"status": "retracted"})
    elif candidate["relation_type"] in assess.RELATING:
        edges(batch, candidate_id, candidate, "retracted")


def _oblige(batch: Batch, candidate_id: str, parameters: Parameters, at_seq: int) -> list[str]:
    """Open the obligation that a candidate asks for."""
    found = candidates.load(batch.read, candidate_id)
    if found["promotion_hint"] != "obligation":
        return []
    opened = obligations.add(
        batch,
        found["claim"],
        parameters,
        at_seq,
        target_kind="focus",
        target_id=found["focus_id"],
        kind=found["relation_type"],
        why=found.get("rationale"),
        source_refs=found["source_refs"],
    )
    return [opened]


def drop(batch: Batch, repair_id: str, why: str, parameters: Parameters, at_seq: int) -> bool:
    """Give a draft up, for a reason; whether that was the last that its task waited for.

    Raises:
        RecordNotFoundError
        StateConflictError: it is not open.
    """
    found = repair.load(batch.read, repair_id)
    if found["status"] != "open":
        raise StateConflictError(f"repair context {repair_id} is {found['status']}")
    batch.add("repair_contexts", repair_id, found | {"status": "dropped", "why": why})
    return settle(batch, find(batch, found["task_id"]), parameters, at_seq)


def settle(batch: Batch, packet: Packet, parameters: Parameters, at_seq: int) -> bool:
    """Close the task where nothing of it waits for repair; the focus is rescored either way."""
    waiting = repair.open_ones(batch.read, packet.id)
    if waiting:
        human = any(repair.load(batch.read, one)["next_action"] == "human" for one in waiting)
        focus.change(
            batch,
            packet.focus_id,
            "repair_opened",
            waiting[-1],
            parameters,
            at_seq,
            features={"human": human},
        )
        return False
    stored = packets.latest(batch.read, packet.focus_id)
    if stored is not None:
        batch.add("packets", packet.id, packets.settled(stored))
    refs = focus.load(batch.read, packet.focus_id)["evidence_refs"]
    focus.change(
        batch,
        packet.focus_id,
        "assessed",
        packet.id,
        parameters,
        at_seq,
        evidence_refs=[ref | {"new": False} for ref in refs],
        features={"human": False, "controversy": False},
    )
    return True


def _refuse_many(count: int) -> None:
    if count > DRAFTS_MAX:
        raise LimitError(
            f"an answer with {count} drafts, those under repair included",
            hint="mend or drop what waits for repair, then answer in several calls",
            path="$",
            limit=DRAFTS_MAX,
        )


def _keys(event: Record) -> Sequence[str]:
    given = event["type"] == ANSWERED and event["payload"].get("key")
    return (given,) if given else ()


def _made(event: Record, _read: Read) -> bytes:
    return orjson.dumps({name: event["payload"][name] for name in Assessed._fields})


TABLES = (Table(ANSWER, "events", _keys, _made),)
"""What an answer with a key came to, for when it comes again."""
