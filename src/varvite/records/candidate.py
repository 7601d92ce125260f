"""Contracts of what may become stable knowledge, and of how that is decided."""

from typing import Literal, Required

from pydantic import with_config
from typing_extensions import TypedDict

from varvite.records.fields import CONFIG, Float, Int, Json


@with_config(CONFIG)
class Candidate(TypedDict, total=False):
    """A relation that somebody thinks holds: provisional until the gate lets it through.

    claim_refs: node ids, in the order given. label: its name in a Gaia package.
    attempt: from 1. repairs: the repair context that it answers.
    validation: imported ones were never held against a packet.
    """

    relation_type: Required[
        Literal[
            "supports",
            "opposes",
            "qualifies",
            "undercuts",
            "background_for",
            "needs_more_evidence",
            "claim",
            "deduction",
        ]
    ]
    status: Required[Literal["candidate", "promoted", "rejected", "deferred", "demoted"]]
    validation: Required[Literal["valid", "imported"]]
    claim: Required[str]
    label: Required[str]
    focus_id: str | None
    packet_id: str | None
    pattern: Literal["equal", "contradict", "exclusive"] | None
    claim_refs: list[str]
    source_refs: Json
    rationale: str | None
    epistemic_status: str | None
    promotion_hint: str | None
    attempt: Int
    repairs: str | None
    decision_id: str | None
    origin: Literal["assessment", "import"]
    tension_group: str | None
    gaia: Json | None


@with_config(CONFIG)
class RepairContext(TypedDict, total=False):
    """Why a draft was not taken, and all that is needed to mend it.

    task_id: its packet, which does not advance while this is open.
    candidate_id: what the draft would have been. repairs: the context that it answered.
    answered_by: the next context, or the candidate that came of it.
    """

    task_id: Required[str]
    focus_id: str | None
    candidate_id: Required[str]
    status: Required[Literal["open", "answered", "resolved", "dropped"]]
    attempt: Required[Int]
    max_attempts: Required[Int]
    codes: Required[list[str]]
    errors: Required[Json]
    draft: Required[Json]
    allowed_refs: Required[Json]
    allowed_types: Required[list[str]]
    allowed_hints: Required[Json]
    next_action: Required[Literal["resubmit", "drop", "human"]]
    repairs: str | None
    answered_by: str | None
    why: str | None


@with_config(CONFIG)
class Decision(TypedDict, total=False):
    """What was decided of a candidate, and what the gate came to.

    outcome unknown: begun, and its end not seen yet. codes: why it was refused.
    gate: preflight, diagnostics, check, the IR hash before and after, Gaia's version.
    p_e_given_h: how probable the first claim is, given the other one; of `infer` alone.
    supersedes: the decision that a demotion takes back.
    """

    candidate_id: Required[str]
    action: Required[Literal["promote", "reject", "defer", "demote"]]
    decided_by: Required[Json]
    rationale: Required[str]
    outcome: Required[Literal["applied", "rolled_back", "refused", "unknown"]]
    origin: Literal["session", "import"]
    codes: list[str]
    verb: str | None
    p_e_given_h: Float | None
    binding: str | None
    label: str | None
    gate: Json | None
    supersedes: str | None


@with_config(CONFIG)
class Projection(TypedDict, total=False):
    """What a record has to become in Gaia, and how far it is.

    lane, place: where it waits, planned or for a retry, and its number there, from 1.
    """

    kind: Required[
        Literal[
            "add_package",
            "materialise",
            "obligation_open",
            "obligation_close",
            "focus_set",
            "candidate",
            "promotion",
            "demotion",
        ]
    ]
    subject_id: Required[str]
    state: Required[Literal["planned", "applying", "applied", "verified", "failed", "abandoned"]]
    lane: Required[Literal["planned", "retry"]]
    place: Required[Int]
    attempts: Int
    payload: Json | None
    result: Json | None
    error: Json | None
    retryable: bool | None


CONTRACTS: dict[str, type] = {
    "candidates": Candidate,
    "repair_contexts": RepairContext,
    "decisions": Decision,
    "projections": Projection,
}
