"""Holding an answer against the packet that it answers, before anything else sees it.

`faults` names everything that is wrong with a draft, by code; what has no fault becomes
a candidate, and the rest is for `repair`.
"""

import keyword
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from varvite import ids
from varvite.graph import shape
from varvite.graph.packets import Packet
from varvite.graph.table import Record

HINTS: dict[str, tuple[str, ...]] = {
    "supports": ("derive", "infer", "depends_on", "none"),
    "opposes": ("contradict", "infer", "none"),
    "qualifies": ("derive", "question", "obligation", "none"),
    "undercuts": ("obligation", "question", "none"),
    "background_for": ("none",),
    "needs_more_evidence": ("obligation", "none"),
}
"""The relation types, each with what it may be promoted to."""
PATTERNS: dict[str, tuple[str, ...]] = {
    "supports": ("equal",),
    "opposes": ("contradict", "exclusive"),
}
RELATING = frozenset({"supports", "opposes", "qualifies", "undercuts"})
"""Types that relate claims to one another, and so need two of them."""
CONTRADICTED = 2
CODES = (
    "type_unknown",
    "hint_not_allowed",
    "refs_empty",
    "item_n_ref",
    "ref_ungrounded",
    "ref_not_claim",
    "refs_lt_2",
    "refs_not_distinct",
    "contradict_needs_2",
    "pattern_type_mismatch",
    "label_not_identifier",
    "packet_over_k",
    "duplicate_candidate",
)
TEXT_CHARS_MAX = 20_000
_ITEM_N = re.compile(r"item_\d+")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class Fault(NamedTuple):
    """field: where in the draft. ref: the ref at fault, if it is one."""

    code: str
    field: str
    message: str
    ref: str | None = None

    def as_dict(self) -> Record:
        return {name: value for name, value in self._asdict().items() if value is not None}


class Draft(NamedTuple):
    """An answer's relation as it was given; refs as their ids."""

    relation_type: str
    claim: str
    source_refs: list[str]
    claim_refs: list[str]
    hint: str
    pattern: str | None
    label: str | None
    rationale: str | None
    epistemic_status: str | None
    repairs: str | None
    given: Record


class Grounds(NamedTuple):
    """What the packet grounds: the node id of every id that an answer may use, and its kind."""

    focus_id: str
    node_ids: Mapping[str, str]
    refs: Mapping[str, Record]
    limit: int


def grounds(packet: Packet, limit: int) -> Grounds:
    node_ids: dict[str, str] = {}
    refs: dict[str, Record] = {}
    for ref in packet.allowed_refs:
        owner = str(ref.get("node_id", ref["id"]))
        refs[owner] = ref
        for name in (ref["id"], owner, ref.get("ref")):
            if name is not None:
                node_ids[str(name)] = owner
    return Grounds(packet.focus_id, node_ids, refs, limit)


def draft(given: Any, path: str) -> Draft:
    """Take a draft's fields.

    Raises:
        MalformedInputError: .path of what is not of the shape of a draft.
    """
    if type(given) is not dict:
        shape.refuse(path, "an object")
    kind = "relation_type" if "relation_type" in given else "type"
    claim = _text(given, "claim", path)
    if not claim or not claim.strip():
        shape.refuse(f"{path}.claim", "what is claimed, in words")
    return Draft(
        shape.key(given, kind, path),
        claim.strip(),
        _refs(given, "source_refs", path),
        _refs(given, "claim_refs", path),
        shape.text(given, "promotion_hint", path) or "none",
        shape.text(given, "pattern", path),
        shape.text(given, "label", path),
        _text(given, "rationale", path),
        shape.text(given, "epistemic_status", path),
        shape.text(given, "repairs", path),
        given,
    )


def candidate_id(one: Draft, grounds: Grounds) -> str:
    """The same for the same focus, type, claim and refs, whichever names the refs have."""
    refs = sorted({grounds.node_ids.get(ref, ref) for ref in (*one.source_refs, *one.claim_refs)})
    return ids.derived("candidate", grounds.focus_id, one.relation_type, *refs, one.claim)


def pattern(one: Draft) -> str | None:
    """The pattern given, or the one that an opposition of two claims has by itself."""
    if one.pattern is None and one.relation_type == "opposes":
        return "contradict" if len(one.claim_refs) == CONTRADICTED else None
    return one.pattern


def faults(one: Draft, grounds: Grounds, *, known: bool) -> list[Fault]:
    """All that is wrong with a draft, in the order of CODES. known: there is such a candidate."""
    found = [*_words(one), *_grounding(one, grounds), *_claims(one, grounds), *_form(one, grounds)]
    if known:
        found.append(Fault("duplicate_candidate", "claim", "this candidate exists"))
    return sorted(found, key=lambda fault: CODES.index(fault.code))


def _words(one: Draft) -> list[Fault]:
    hints = HINTS.get(one.relation_type)
    if hints is None:
        return [Fault("type_unknown", "type", f"expected one of {', '.join(HINTS)}")]
    if one.hint not in hints:
        message = f"{one.relation_type} may be promoted to {', '.join(hints)}"
        return [Fault("hint_not_allowed", "promotion_hint", message)]
    return []


def _grounding(one: Draft, grounds: Grounds) -> list[Fault]:
    found = []
    if not one.source_refs:
        found.append(Fault("refs_empty", "source_refs", "a relation names its evidence"))
    for name in ("source_refs", "claim_refs"):
        for ref in getattr(one, name):
            if _ITEM_N.fullmatch(ref):
                message = "a place in a list is no identity: use the id"
                found.append(Fault("item_n_ref", name, message, ref))
            elif ref not in grounds.node_ids:
                found.append(Fault("ref_ungrounded", name, "the packet has no such ref", ref))
    return found


def _claims(one: Draft, grounds: Grounds) -> list[Fault]:
    found = [
        Fault("ref_not_claim", "claim_refs", f"it is a {_what(grounds, ref)}", ref)
        for ref in one.claim_refs
        if ref in grounds.node_ids and _what(grounds, ref) != "claim"
    ]
    count = len(one.claim_refs)
    if len({grounds.node_ids.get(ref, ref) for ref in one.claim_refs}) < count:
        found.append(Fault("refs_not_distinct", "claim_refs", "a claim is not related to itself"))
    if one.relation_type in RELATING and count < CONTRADICTED:
        found.append(Fault("refs_lt_2", "claim_refs", f"{one.relation_type} relates two claims"))
    elif count > CONTRADICTED and "contradict" in (one.pattern, one.hint):
        message = f"a contradiction is of two claims, not of {count}"
        found.append(Fault("contradict_needs_2", "claim_refs", message))
    return found


def _form(one: Draft, grounds: Grounds) -> list[Fault]:
    found = []
    if one.pattern is not None and one.pattern not in PATTERNS.get(one.relation_type, ()):
        allowed = ", ".join(PATTERNS.get(one.relation_type, ())) or "none"
        message = f"{one.relation_type} has the patterns: {allowed}"
        found.append(Fault("pattern_type_mismatch", "pattern", message))
    if one.label is not None and not _is_identifier(one.label):
        found.append(Fault("label_not_identifier", "label", "expected a Python identifier"))
    if len({*one.source_refs, *one.claim_refs}) > grounds.limit:
        message = f"it names more than the {grounds.limit} pieces that a packet holds"
        found.append(Fault("packet_over_k", "source_refs", message))
    return found


def _what(grounds: Grounds, ref: str) -> str:
    """What a grounded ref is: a variable without a type is a claim, as in a chain."""
    found = grounds.refs[grounds.node_ids[ref]]
    return str(found.get("value_type") or "claim") if found["kind"] == "variable" else found["kind"]


def _is_identifier(label: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(label)) and not keyword.iskeyword(label)


def _text(given: Record, name: str, path: str) -> str | None:
    value = shape.text(given, name, path)
    if value is not None and len(value) > TEXT_CHARS_MAX:
        shape.refuse(f"{path}.{name}", f"at most {TEXT_CHARS_MAX} characters")
    return value


def _refs(given: Record, name: str, path: str) -> list[str]:
    """The ids of refs, each given as an id or as an object that has one."""
    refs = []
    for position, value in enumerate(shape.items(given, name, path)):
        at = f"{path}.{name}[{position}]"
        owner = value if type(value) is dict else {"id": value}
        refs.append(shape.key(owner, "id", at))
    return refs
