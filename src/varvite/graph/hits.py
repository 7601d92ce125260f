"""Hits that somebody already normalised, in our own shape.

    {"query": text, "index": name, "hits": [hit, ...]}

    hit: id or source_key, or package_ref, or content alone: what the hit is known by
         rank           integer from 1; its place in `hits` if absent
         score          finite number
         variable_type, role, title, content, content_hash      text
         package_ref    text
         bucket_ids     list of ids
         paper          {"id" or "key", "doi", "title"}
         metadata       object, kept as it is

`id` is the provider's, within `index`; `source_key` is the whole key. Everything is
optional but what names the hit; unknown fields stay in the raw text.
"""

from typing import Any

from varvite.errors import VarviteError
from varvite.graph.delta import Delta, Fields, Hit, bare_id, filled, source_key
from varvite.graph.shape import (
    Object,
    integer,
    key,
    keys,
    mapping,
    number,
    objects,
    refuse,
    text,
    texts,
)
from varvite.records.limits import check

RANK_MAX = 1_000_000
_TEXTS = ("variable_type", "role", "title", "content", "content_hash")


def read(payload: Object, index: str) -> Delta:
    """Turn normalised hits into what they bring.

    Raises:
        MalformedInputError: with .path; nothing of the payload may be kept then.
    """
    papers: dict[str, Fields] = {}
    hits = [
        _hit(hit, f"$.hits[{place - 1}]", place, index, papers)
        for place, hit in enumerate(objects(payload, "hits", "$"), 1)
    ]
    return Delta("query", query=text(payload, "query", "$"), hits=hits, papers=papers)


def _hit(hit: Object, path: str, place: int, index: str, papers: dict[str, Fields]) -> Hit:
    node = texts(hit, _TEXTS, path) | filled(
        node_kind="variable",
        package_ref=_optional_key(hit, "package_ref", path),
        metadata=_metadata(hit, path),
    )
    known_by = _source_key(hit, path, index)
    if known_by is None and "package_ref" not in node and "content" not in node:
        refuse(path, "an id, a source_key, a package_ref or content")
    paper_keys = _paper(hit, path, index, papers)
    buckets = keys(hit, "bucket_ids", path)
    rank = _rank(hit, path, place)
    return Hit(rank, known_by, number(hit, "score", path), paper_keys, buckets, node)


def _source_key(hit: Object, path: str, index: str) -> str | None:
    whole = _optional_key(hit, "source_key", path)
    if whole is not None or hit.get("id") is None:
        return whole
    return source_key(index, "variable", key(hit, "id", path))


def _optional_key(owner: Object, name: str, path: str) -> str | None:
    return None if owner.get(name) is None else key(owner, name, path)


def _rank(hit: Object, path: str, place: int) -> int:
    rank = integer(hit, "rank", path)
    if rank is None:
        return place
    return rank if 1 <= rank <= RANK_MAX else refuse(f"{path}.rank", f"1 to {RANK_MAX}")


def _paper(hit: Object, path: str, index: str, papers: dict[str, Fields]) -> list[str]:
    paper = mapping(hit, "paper", path)
    if paper is None:
        return []
    at = f"{path}.paper"
    whole = _optional_key(paper, "key", at)
    paper_key = whole or source_key(index, "paper", bare_id(key(paper, "id", at)))
    papers[paper_key] = texts(paper, ("doi", "title"), at) | papers.get(paper_key, {})
    return [paper_key]


def _metadata(hit: Object, path: str) -> Any:
    """The one nested value that goes into a record, so it is held against a record's limits."""
    metadata = mapping(hit, "metadata", path)
    try:
        check(metadata, f"{path}.metadata", depth=3)
    except VarviteError as error:
        refuse(error.data["path"], f"what a record can hold ({error.message})")
    return metadata
