"""Contracts of the field map. Scores are cosines, from 0 to 1, in steps of a millionth."""

from typing import Literal, Required

from pydantic import with_config
from typing_extensions import TypedDict

from varvite.records.fields import CONFIG, Float, Int, Json


@with_config(CONFIG)
class Bucket(TypedDict, total=False):
    """A part of the field, as one step left it. A later revision replaces an earlier one whole.

    nodes, papers, claims, questions, by_role: of the nodes assigned to it; papers are distinct.
    exemplars: [{node_id, score}], best first. open_gaps: [{kind, ...}], what it lacks.
    unmet_terms: terms that no node of it has. signature: {method, features, weights},
    the heaviest features first. merged_into: the bucket that has its nodes by now; a hit that
    names it goes there. opened_as: its label before it was renamed.
    """

    label: Required[str]
    role: str
    required: bool
    criteria: str
    terms: list[str]
    nodes: Required[Int]
    papers: Required[Int]
    claims: Required[Int]
    questions: Required[Int]
    by_role: Json
    exemplars: Required[Json]
    coverage_status: Required[Literal["covered", "partial", "thin", "missing", "out_of_scope"]]
    open_gaps: Json
    unmet_terms: list[str]
    signature: Required[Json]
    merged_into: str
    opened_as: str


@with_config(CONFIG)
class Membership(TypedDict, total=False):
    """Where a node stands in the field map. A later revision replaces an earlier one whole.

    bucket_ids: those that it is in, or, where its state is ambiguous, may be in; scores
    and methods (explicit, lexical or embedding) belong to them one by one.
    variable_type, role, paper_key: what the node was counted by.
    """

    node_id: Required[str]
    state: Required[Literal["assigned", "ambiguous", "new_bucket_candidate"]]
    bucket_ids: Required[list[str]]
    scores: Required[list[Float]]
    methods: Required[list[str]]
    variable_type: str | None
    role: str | None
    paper_key: str | None


@with_config(CONFIG)
class Vocabulary(TypedDict, total=False):
    """How many of the first nodes had a word of each slot. Private: it has no file of its own."""

    nodes: Required[Int]
    found: Required[list[Int]]


CONTRACTS: dict[str, type] = {
    "buckets": Bucket,
    "memberships": Membership,
    "vocabulary": Vocabulary,
}
