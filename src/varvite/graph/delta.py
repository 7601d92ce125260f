"""What one response brings, before anyone asks whether it is known."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

DEFAULT_INDEX = "bohrium"

ItemKind = Literal["query", "claim_chain", "paper"]

Fields = dict[str, Any]
"""Fields of a `nodes` record, as far as the payload tells them."""


class Hit(NamedTuple):
    """One variable of a search result. rank: from 1. paper_keys: its representative one first."""

    rank: int
    source_key: str | None
    score: float | None
    paper_keys: list[str]
    bucket_ids: list[str]
    node: Fields


class Named(NamedTuple):
    """A variable or a factor that a chain names."""

    source_key: str
    paper_keys: list[str]
    node: Fields


class Link(NamedTuple):
    """An edge between a source key and another, each with its node kind.

    premise_of leads from a premise to its factor, concludes from the factor to the
    conclusion: a factor keeps together the premises that hold only jointly. Other
    kinds are the provider's own words.
    """

    kind: str
    src_kind: str
    src: str
    dst_kind: str
    dst: str


class Delta(NamedTuple):
    """code: 0 when the call went through; otherwise nothing but `message` is there.

    sources: source keys, with their node kind, of what the response has whole: a paper
    with its graph, a variable with its chains.
    """

    item_kind: ItemKind
    code: int = 0
    message: str | None = None
    trace_id: str | None = None
    query: str | None = None
    hits: Sequence[Hit] = ()
    papers: Mapping[str, Fields] = MappingProxyType({})
    named: Sequence[Named] = ()
    links: Sequence[Link] = ()
    sources: Sequence[tuple[str, str]] = ()


def source_key(index: str, kind: str, provider_id: str) -> str:
    return f"lkm:{index}:{kind}:{provider_id}"


def bare_id(package: str) -> str:
    """The paper id of an LKM package id or of anything inside it: `paper:12::P3` is in 12."""
    return package.removeprefix("paper:").partition("::")[0]


def filled(**fields: Any) -> Fields:
    """The fields that are neither null nor empty text: a record does without the others."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}
