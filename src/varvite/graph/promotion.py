"""The one gate to stable knowledge: what is refused before Gaia is asked, and every decision.

A decision is written before Gaia is asked, as unknown, and again when its end is seen:
a crash between the two leaves a promotion that was begun, and is found as such.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from varvite import ids
from varvite.errors import InputError, RecordNotFoundError, StateConflictError
from varvite.graph import answering, candidates, outbox
from varvite.graph.batch import Batch
from varvite.graph.delta import filled
from varvite.graph.port import (
    GATE_UNAVAILABLE,
    METADATA_KEY,
    Demotion,
    Failure,
    Gate,
    Promotion,
    Relation,
)
from varvite.graph.table import Record, Table, kept, state
from varvite.session.kind import Read

DECISION, DECISIONS = "decision", "decisions_of"
VERBS: dict[str, tuple[str, ...]] = {
    "supports": ("derive", "infer", "equal"),
    "opposes": ("contradict", "exclusive", "infer"),
    "qualifies": ("derive",),
}
"""What each relation type can become; the other types stay provisional."""
SCAFFOLD = "depends_on"
"""To Gaia a scaffold, as the candidate is: it can be hinted at, and promotes nothing."""
OPEN = frozenset({"candidate", "deferred", "demoted"})
DECIDERS = ("human", "agent", "policy")
RELATED = 2
_PATTERNS = frozenset({"equal", "contradict", "exclusive"})


class Refusal(NamedTuple):
    code: str
    message: str


class Opened(NamedTuple):
    """A decision, written as unknown where the gate is to be asked, else as refused."""

    decision_id: str
    refusals: list[Refusal]


def closed(failure: Failure | None) -> list[Refusal]:
    """Why the gate cannot be asked: that it is closed, and what closed it."""
    if failure is None:
        return []
    why = Refusal(failure.code, failure.message)
    if failure.code == GATE_UNAVAILABLE:
        return [why]
    return [Refusal(GATE_UNAVAILABLE, "there is no Gaia to ask"), why]


def load(read: Read, decision_id: str) -> Record:
    """A decision as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, DECISION, decision_id)
    if found is None:
        raise RecordNotFoundError(f"no decision {decision_id[:80]!r}")
    return found


def decider(given: str | Mapping[str, str]) -> dict[str, str]:
    """Who decided: `{kind, name}`, or `kind:name` as text; a bare name is a human's, a bare kind
    is nobody's.

    Raises:
        InputError
    """
    if isinstance(given, str):
        kind, colon, name = given.partition(":")
        named = colon or kind in DECIDERS
        given = {"kind": kind, "name": name} if named else {"kind": "human", "name": given}
    made = {"kind": str(given.get("kind")), "name": str(given.get("name", "")).strip()}
    if made["kind"] not in DECIDERS or not made["name"]:
        raise InputError("who decided?", hint=f"KIND:NAME, of kind {', '.join(DECIDERS)}")
    return made


def verb_of(candidate: Record, wanted: str | None) -> str | None:
    """The verb asked for, else what the candidate's pattern or hint says, else the first."""
    allowed = VERBS.get(candidate["relation_type"], ())
    given = (wanted, candidate.get("pattern"), candidate.get("promotion_hint"))
    named = {*allowed, wanted, SCAFFOLD}
    chosen = [one for one in given if one and one in named]
    return (chosen or [*allowed, None])[0]


def preflight(read: Read, candidate_id: str, candidate: Record, verb: str | None) -> list[Refusal]:
    """What Gaia would refuse, and what it would wrongly take. A few reads a claim."""
    found = [*_standing(read, candidate_id, candidate), *_verb(candidate, verb)]
    claims = candidate.get("claim_refs", [])
    if len(claims) < RELATED:
        found.append(Refusal("refs_lt_2", "a relation is of two claims at least"))
    if len(set(claims)) < len(claims):
        found.append(Refusal("refs_not_distinct", "a claim is not related to itself"))
    if verb == "contradict" and len(claims) > RELATED:
        found.append(Refusal("contradict_needs_2", "a contradiction is of two claims"))
    unknown = [one for one in claims if outbox.package_ref(read, one) is None]
    if unknown:
        message = f"not in a Gaia package yet: {', '.join(unknown)}"
        found.append(Refusal("target_unknown", message))
    return found


def _standing(read: Read, candidate_id: str, candidate: Record) -> list[Refusal]:
    found = []
    if candidate["status"] not in OPEN:
        found.append(Refusal("not_open", f"the candidate is {candidate['status']}"))
    if candidates.labelled(read, candidate["label"]) != candidate_id:
        found.append(Refusal("label_taken", f"{candidate['label']} names another candidate"))
    projected = state(read, outbox.PROJECTION, _projection_id(candidate_id))
    if projected is None or projected["state"] not in {"applied", "verified"}:
        found.append(Refusal("not_projected", "Gaia has no such candidate_relation yet"))
    return found


def _projection_id(candidate_id: str) -> str:
    return ids.derived("projection", "candidate", candidate_id, "0")


def _verb(candidate: Record, verb: str | None) -> list[Refusal]:
    allowed = VERBS.get(candidate["relation_type"], ())
    if not allowed:
        message = f"{candidate['relation_type']} does not become stable"
        return [Refusal("not_promotable", message)]
    if verb == SCAFFOLD:
        message = f"{verb} is as provisional as the candidate: name {' or '.join(allowed)}"
        return [Refusal("verb_not_stable", message)]
    if verb not in allowed:
        return [Refusal("verb_not_allowed", f"expected one of {', '.join(allowed)}")]
    pattern = candidate.get("pattern")
    if pattern is not None and verb in _PATTERNS and verb != pattern:
        return [Refusal("pattern_mismatch", f"the candidate's pattern is {pattern}")]
    return []


def _probability(verb: str | None, given: float | None) -> list[Refusal]:
    if (verb == "infer") is (given is not None and 0 < given < 1):
        return []
    return [Refusal("probability", "infer, and it alone, takes p_e_given_h between 0 and 1")]


def open_promotion(
    batch: Batch,
    candidate_id: str,
    decided_by: dict[str, str],
    why: str,
    *,
    verb: str | None = None,
    p_e_given_h: float | None = None,
    closed: Sequence[Refusal] = (),
) -> Opened:
    """Begin a promotion, or refuse it; either way it is a decision.

    closed: why the gate cannot be asked, if it cannot; the candidate then waits.
    p_e_given_h: what `infer`, and it alone, needs: how probable the first claim is, given
    the other one.

    Raises:
        RecordNotFoundError
        InputError: no reason was given.
    """
    candidate = candidates.load(batch.read, candidate_id)
    chosen = verb_of(candidate, verb)
    refusals = list(closed) or [
        *preflight(batch.read, candidate_id, candidate, chosen),
        *_probability(chosen, p_e_given_h),
    ]
    stem = {"candidate_id": candidate_id, "action": "promote"}
    stem |= filled(
        verb=chosen,
        binding=candidate["label"],
        label=f"{chosen}_{candidate['label']}",
        p_e_given_h=p_e_given_h,
    )
    return _open(batch, stem, decided_by, why, refusals, "promotion")


def open_demotion(
    batch: Batch,
    candidate_id: str,
    decided_by: dict[str, str],
    why: str,
    *,
    closed: Sequence[Refusal] = (),
) -> Opened:
    """Begin to take back what was promoted, or refuse to; either way it is a decision.

    Raises:
        RecordNotFoundError, InputError
        StateConflictError: the candidate is not promoted.
    """
    candidate = candidates.load(batch.read, candidate_id)
    if candidate["status"] != "promoted":
        raise StateConflictError(f"candidate {candidate_id} is {candidate['status']}, not promoted")
    earlier = load(batch.read, candidate["decision_id"])
    stem = {"candidate_id": candidate_id, "action": "demote"}
    stem |= {"supersedes": candidate["decision_id"]} | filled(label=earlier.get("label"))
    return _open(batch, stem, decided_by, why, list(closed), "demotion")


def _open(
    batch: Batch,
    stem: Record,
    decided_by: dict[str, str],
    why: str,
    refusals: list[Refusal],
    kind: str,
) -> Opened:
    fields = stem | {
        "decided_by": decided_by,
        "rationale": _reason(why),
        "origin": "session",
        "outcome": "refused" if refusals else "unknown",
        "codes": [one.code for one in refusals],
        "gate": {"preflight": [one._asdict() for one in refusals]},
    }
    own = _next_id(batch.read, stem["candidate_id"])
    batch.add("decisions", own, fields)
    if not refusals:
        outbox.plan(batch, kind, own, {"candidate_id": stem["candidate_id"]}, began=True)
    return Opened(own, refusals)


def decide(
    batch: Batch, candidate_id: str, action: str, decided_by: dict[str, str], why: str
) -> str:
    """Reject or defer a candidate; needs no Gaia. Returns the decision's id.

    What it is already, it stays by the decision that there is.

    Rejected, its edges are retracted, and what has not reached Gaia is abandoned.

    Raises:
        RecordNotFoundError, InputError
        StateConflictError: it is promoted: demote it.
    """
    candidate = candidates.load(batch.read, candidate_id)
    if candidate["status"] == "promoted":
        raise StateConflictError(f"candidate {candidate_id} is promoted", hint="demote it first")
    status = {"reject": "rejected", "defer": "deferred"}[action]
    if candidate["status"] == status and "decision_id" in candidate:
        return str(candidate["decision_id"])
    own = _next_id(batch.read, candidate_id)
    fields = {"candidate_id": candidate_id, "action": action, "decided_by": decided_by}
    fields |= {"rationale": _reason(why), "origin": "session", "outcome": "applied", "codes": []}
    batch.add("decisions", own, fields)
    batch.add("candidates", candidate_id, candidate | {"status": status, "decision_id": own})
    if action == "reject" and candidate["status"] != "rejected":
        answering.retract(batch, candidate_id, candidate)
        outbox.abandon(batch, _projection_id(candidate_id))
    return own


def finish(batch: Batch, decision_id: str, gate: Gate) -> Record:
    """Write what the gate came to: the decision, its projection, the candidate, its edges."""
    found = load(batch.read, decision_id)
    projection = ids.derived("projection", _kind(found), decision_id, "0")
    failure = gate.failure
    made = found | {"outcome": gate.outcome, "codes": [failure.code] if failure else []}
    made["gate"] = found["gate"] | _gate(gate)
    batch.add("decisions", decision_id, made)
    if gate.outcome == "applied":
        outbox.step_to(batch, projection, "applied", result=gate.result)
        _take_effect(batch, found["candidate_id"], decision_id, found["action"])
    else:
        error = failure._asdict() if failure else {"code": gate.outcome}
        outbox.step_to(batch, projection, "failed", error=error, retryable=False)
    return made


def _take_effect(batch: Batch, candidate_id: str, decision_id: str, action: str) -> None:
    candidate = candidates.load(batch.read, candidate_id)
    status = "promoted" if action == "promote" else "demoted"
    made = candidate | {"status": status, "decision_id": decision_id}
    batch.add("candidates", candidate_id, made)
    if action == "demote":
        answering.retract(batch, candidate_id, candidate)


def promotion(read: Read, session_id: str, decision_id: str) -> Promotion:
    """What the port is asked for."""
    found = load(read, decision_id)
    made = relation(read, session_id, found["candidate_id"])
    return Promotion(
        decision_id,
        made,
        found["verb"],
        found["label"],
        found["rationale"],
        found.get("p_e_given_h"),
    )


def demotion(read: Read, decision_id: str) -> Demotion:
    found = load(read, decision_id)
    return Demotion(
        decision_id,
        found["supersedes"],
        found["candidate_id"],
        found.get("label") or "",
        found["rationale"],
    )


def relation(
    read: Read, session_id: str, candidate_id: str, refs: Mapping[str, str] | None = None
) -> Relation:
    """A candidate as Gaia takes it. refs: package refs that the index has not yet.

    Raises:
        KeyError: a claim has no package ref.
    """
    found = candidates.load(read, candidate_id)
    claims = []
    for node_id in found["claim_refs"]:
        ref = (refs or {}).get(node_id) or outbox.package_ref(read, node_id)
        if ref is None:
            raise KeyError(node_id)
        claims.append(ref)
    return Relation(
        candidate_id,
        found["label"],
        found["label"],
        tuple(claims),
        found.get("pattern"),
        found.get("rationale") or found["claim"],
        {METADATA_KEY: {"session": session_id, "candidate_id": candidate_id}},
    )


def _kind(decision: Record) -> str:
    return "promotion" if decision["action"] == "promote" else "demotion"


def _gate(gate: Gate) -> dict[str, Any]:
    return filled(
        diagnostics=list(gate.diagnostics),
        check=gate.check._asdict() | {"diagnostics": list(gate.check.diagnostics)}
        if gate.check
        else None,
        ir_hash_before=gate.ir_hash_before,
        ir_hash_after=gate.ir_hash_after,
        gaia_version=gate.gaia_version,
        cost_s=gate.cost_s,
    )


def _next_id(read: Read, candidate_id: str) -> str:
    number = int(read(DECISIONS, candidate_id) or b"0") + 1
    return ids.derived("decision", candidate_id, str(number))


def _reason(why: str) -> str:
    if not why.strip():
        raise InputError("a decision has a reason", path="why")
    return why.strip()


def _numbered(decision: Record, read: Read) -> bytes:
    """Comes before DECISION in the list of tables: it counts the decisions that are new."""
    fresh = read(DECISION, decision["id"]) is None
    return b"%d" % (int(read(DECISIONS, decision["candidate_id"]) or b"0") + fresh)


TABLES = (
    Table(DECISIONS, "decisions", lambda decision: (decision["candidate_id"],), _numbered),
    kept(DECISION, "decisions"),
)
