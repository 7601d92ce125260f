"""Contracts of what a session works on: focuses, obligations, evidence packets."""

from typing import Literal, Required

from pydantic import with_config
from typing_extensions import TypedDict

from varvite.records.fields import CONFIG, Float, Int, Json


@with_config(CONFIG)
class Focus(TypedDict, total=False):
    """A question that is worked on. A later revision replaces an earlier one whole.

    queued: whether it is among the few that wait to be worked on next.
    evidence_refs: what its packet holds, with the provider's score and whether it is new.
    obligation_ids: the newest of those that are open; open_obligations counts all.
    cause: what made this revision, {trigger, ref}; triggers: all that did.
    touched_seq: the session's cursor before it.
    packet_id: its latest packet; packets: how many it had.
    """

    question: Required[str]
    rationale: str | None
    status: Required[Literal["candidate", "accepted", "deferred", "closed"]]
    priority: Required[Literal["high", "medium", "low"]]
    readiness: Required[Literal["ready_for_assess", "needs_expand", "needs_human_review", "defer"]]
    score: Required[Float]
    queued: Required[bool]
    scope: Json | None
    bucket_ids: list[str]
    obligation_ids: list[str]
    open_obligations: Int
    evidence_refs: Json
    suggested_queries: list[str]
    features: Json
    triggers: list[str]
    cause: Json
    touched_seq: Int
    packet_id: str | None
    packets: Int
    gaia: Json | None


@with_config(CONFIG)
class Obligation(TypedDict, total=False):
    """Something that must be answered before the session is done.

    diagnostic_kind: one of Gaia's five; raw_kind: the word that was given.
    due_step: the step from which it is overdue while open. overdue: how often it was.
    opened_times: the first opening included.
    lane, place: where it waits for room in Gaia, and its number there, from 1; not planned yet.
    """

    target_kind: Required[Literal["focus", "bucket", "node", "gaia_qid"]]
    target_id: Required[str]
    content: Required[str]
    diagnostic_kind: Required[
        Literal["prior_hole", "structural_hole", "support_weak", "focus_weakness", "other"]
    ]
    status: Required[Literal["open", "deferred", "closed"]]
    raw_kind: str | None
    actionable: bool
    why: str | None
    source_refs: Json | None
    bucket_id: str | None
    focus_id: str | None
    opened_step: Int
    opened_times: Int
    due_step: Int | None
    overdue: Int
    gaia_qid: str | None
    closed_reason: str | None
    lane: Literal["gaia"] | None
    place: Int | None
    planned: bool | None


@with_config(CONFIG)
class Packet(TypedDict, total=False):
    """The evidence for one focus. An answer may name it, its papers, and the focus.

    number: from 1, of its focus. evidence: in the order of arrival, new or known from the
    packet before, without scores. displaced: refs that an earlier revision showed; they
    stay allowed.
    """

    focus_id: Required[str]
    number: Required[Int]
    status: Required[Literal["pending", "assessed"]]
    question: str | None
    evidence: Required[Json]
    displaced: Required[Json]
    triggers: list[str]
    cause: Json


CONTRACTS: dict[str, type] = {"focuses": Focus, "obligations": Obligation, "packets": Packet}
