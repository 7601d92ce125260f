"""A field bucket: what a part of the field is, how much of it is there, and what is missing."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, NamedTuple, Self

import orjson

from varvite import ids
from varvite.errors import InputError, LimitError
from varvite.graph import features, ties
from varvite.graph.parameters import Parameters
from varvite.graph.signature import SCALE
from varvite.graph.table import Record, Spread, Table, listed
from varvite.session.kind import Read

BUCKET, FIELD, COUNT = "bucket", "field", "count"
IDS_PER_PAGE = 64
OUT_OF_SCOPE = "out_of_scope"

LABEL_CHARS_MAX, ROLE_CHARS_MAX, TERM_CHARS_MAX, CRITERIA_CHARS_MAX = 200, 64, 200, 2_000
TERMS_MAX = 32
ROLES = ("premise", "conclusion")
OTHER = "other"
"""Roles that are counted by name, and the name for all others."""


class Facts(NamedTuple):
    """What a node is counted by."""

    variable_type: str | None = None
    role: str | None = None
    paper_key: str | None = None


@lru_cache(1 << 10)
def _words(term: str) -> frozenset[int]:
    return frozenset(features.of(term))


@dataclass(slots=True)
class Bucket:
    """role: what the bucket is for the field; `out_of_scope` keeps what does not belong to it.

    required: the field is not covered without it. claims, questions, by_role: of the nodes.
    papers: distinct papers that its nodes were placed in. exemplars: [node id, score in
    millionths], best first, the earlier among equals. unmet_terms: terms that no node
    of the bucket has. merged_into: the bucket that has its nodes by now. opened_as: its label
    before it was renamed. updated_seq: 0 before its first record.
    """

    id: str
    label: str
    role: str = ""
    required: bool = False
    criteria: str = ""
    terms: list[str] = field(default_factory=list)
    nodes: int = 0
    papers: int = 0
    claims: int = 0
    questions: int = 0
    by_role: dict[str, int] = field(default_factory=dict)
    exemplars: list[tuple[str, int]] = field(default_factory=list)
    unmet_terms: list[str] = field(default_factory=list)
    merged_into: str | None = None
    opened_as: str | None = None
    updated_seq: int = 0

    @classmethod
    def read(cls, read: Read, bucket_id: str) -> Self | None:
        stored = read(BUCKET, bucket_id)
        return cls(**orjson.loads(stored)[0]) if stored else None

    def meaning(self) -> tuple[str, str, bool, str, list[str]]:
        """What it was opened as."""
        return self.opened_as or self.label, self.role, self.required, self.criteria, self.terms

    def take(self, node_id: str, facts: Facts, score: int, keep: int) -> None:
        """Count a node, and keep it among the exemplars where it is one of the best."""
        self.nodes += 1
        self._count(facts, 1)
        place = len(self.exemplars)
        while place and self.exemplars[place - 1][1] < score:
            place -= 1
        self.exemplars.insert(place, (node_id, score))
        del self.exemplars[keep:]

    def drop(self, node_id: str, facts: Facts) -> None:
        """Count a node out that was taken; whoever drops it finds exemplars in its place."""
        self.nodes -= 1
        self._count(facts, -1)
        self.exemplars = [one for one in self.exemplars if one[0] != node_id]

    def recount(self, before: Facts, after: Facts) -> None:
        """Count a node by what is known of it by now."""
        self._count(before, -1)
        self._count(after, 1)

    def meet(self, found: AbstractSet[int]) -> None:
        """Strike out the terms whose words and pairs are all among a node's features."""
        self.unmet_terms = [term for term in self.unmet_terms if not _words(term) <= found]

    def coverage(self, parameters: Parameters) -> str:
        if self.role == OUT_OF_SCOPE or self.merged_into:
            return OUT_OF_SCOPE
        if self.nodes == 0:
            return "missing"
        if self.nodes < parameters.partial_nodes:
            return "thin"
        enough = self.papers >= parameters.covered_papers
        return "covered" if enough and self.nodes >= parameters.covered_nodes else "partial"

    def open_gaps(self, parameters: Parameters) -> list[dict[str, Any]]:
        """What it lacks: nodes, papers, then terms; the first few."""
        if self.coverage(parameters) == OUT_OF_SCOPE:
            return []
        wanted = {"nodes": parameters.covered_nodes, "papers": parameters.covered_papers}
        gaps: list[dict[str, Any]] = [
            {"kind": kind, "have": getattr(self, kind), "want": want}
            for kind, want in wanted.items()
            if getattr(self, kind) < want
        ]
        gaps += [{"kind": "term", "term": term} for term in self.unmet_terms]
        return gaps[: parameters.open_gaps]

    def record(self, parameters: Parameters, signature: Mapping[str, Any]) -> Record:
        """All there is to say about the bucket, as the record of a step that touched it."""
        return {
            "stream": "buckets",
            **{name: value for name in _KEPT if (value := getattr(self, name)) is not None},
            "exemplars": [
                {"node_id": node_id, "score": score / SCALE} for node_id, score in self.exemplars
            ],
            "coverage_status": self.coverage(parameters),
            "open_gaps": self.open_gaps(parameters),
            "signature": signature,
        }

    def _count(self, facts: Facts, change: int) -> None:
        self.claims += change * (facts.variable_type == "claim")
        self.questions += change * (facts.variable_type == "question")
        if facts.role is not None:
            role = facts.role if facts.role in ROLES else OTHER
            self.by_role[role] = self.by_role.get(role, 0) + change


def defined(
    label: str,
    *,
    bucket_id: str | None,
    criteria: str,
    terms: Iterable[str],
    role: str,
    required: bool,
) -> Bucket:
    """A bucket without nodes, whose terms are all still to be met.

    Raises:
        InputError, LimitError, InvalidIdError: .path of the field that is refused.
    """
    words = list(terms)
    if len(words) > TERMS_MAX:
        raise LimitError(f"a bucket has at most {TERMS_MAX} terms", path="terms", limit=TERMS_MAX)
    for path, text, chars, least in (
        ("label", label, LABEL_CHARS_MAX, 1),
        ("criteria", criteria, CRITERIA_CHARS_MAX, 0),
        ("role", role, ROLE_CHARS_MAX, 0),
        *((f"terms[{place}]", term, TERM_CHARS_MAX, 1) for place, term in enumerate(words)),
    ):
        _check_text(path, text, chars, least)
    made = ids.derived("bucket", label) if bucket_id is None else ids.record_id(bucket_id)
    unmet = [term for term in dict.fromkeys(words) if features.of(term)]
    return Bucket(made, label, role, required, criteria, words, unmet_terms=unmet)


def _check_text(path: str, text: str, chars: int, least: int) -> None:
    if type(text) is not str or not least <= len(text) <= chars:
        raise InputError(f"{path}: expected text of {least} to {chars} characters", path=path)


def ids_of(read: Read) -> list[str]:
    """All buckets in the order in which they were opened. Costs one lookup for 64 of them."""
    pages = -(-count(read) // IDS_PER_PAGE)
    return [name for page in range(pages) for name in listed(read, FIELD, str(page))]


def count(read: Read) -> int:
    return int(read(FIELD, COUNT) or b"0")


def standing(read: Read, bucket_id: str) -> Bucket | None:
    """The bucket itself, or the one that it was merged into; None where it was never opened."""
    found = Bucket.read(read, bucket_id)
    while found is not None and found.merged_into is not None:
        found = Bucket.read(read, found.merged_into)
    return found


_KEPT = tuple(one.name for one in fields(Bucket) if one.name not in ("exemplars", "updated_seq"))

_SHOWN = ("coverage_status", "open_gaps")


def face(read: Read, bucket_id: str) -> dict[str, Any]:
    """A bucket as `field_map.json` shows it."""
    kept, shown = listed(read, BUCKET, bucket_id)
    exemplars = [
        {"node_id": node_id, "score": score / SCALE} for node_id, score in kept["exemplars"]
    ]
    focuses = ties.focuses_of(read, bucket_id)
    return {**kept, **shown, "exemplars": exemplars, "focus_ids": focuses}


def _value(record: Record, _read: Read) -> bytes:
    kept = {name: record[name] for name in _KEPT if name in record}
    kept["exemplars"] = [
        (one["node_id"], round(one["score"] * SCALE)) for one in record["exemplars"]
    ]
    shown = {name: record[name] for name in _SHOWN}
    return orjson.dumps((kept | {"updated_seq": record["seq"]}, shown))


def _listed(record: Record, read: Read) -> Iterable[tuple[str, bytes]]:
    """The list of buckets, in pages, where a record opens one."""
    if record["rev"]:
        return
    opened = count(read)
    page = str(opened // IDS_PER_PAGE)
    yield page, orjson.dumps([*listed(read, FIELD, page), record["id"]])
    yield COUNT, b"%d" % (opened + 1)


TABLES = (
    Table(BUCKET, "buckets", lambda record: (record["id"],), _value),
    Spread(FIELD, "buckets", _listed),
)
