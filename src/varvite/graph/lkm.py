"""One raw response of an LKM, taken whole or refused whole.

Shapes known: a search (`data.variables`), the evidence of a claim
(`data.evidence_chains[].factors[]`), the reasoning behind it
(`data.reasoning_chains[].graph`), a list of papers alone, each with its graph or
without (`data.papers[].graph`, the paper itself then in `paper`), and a failure
(`code` other than 0). Fields that are not read here stay in the raw text.
"""

from typing import Any

from varvite.graph import chains
from varvite.graph.delta import Delta, Fields, Hit, ItemKind, bare_id, source_key
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

_SHAPES = ("variables", "evidence_chains", "reasoning_chains", "papers")
_PAPER_FIELDS = ("authors", "area", "keywords", "publication_name", "publication_date")


def read(payload: Any, index: str) -> Delta:
    """Turn a decoded response into what it brings.

    Raises:
        MalformedInputError: with .path; nothing of the response may be kept then.
    """
    if type(payload) is not dict:
        refuse("$", "an object")
    code = integer(payload, "code", "$")
    if code is None:
        refuse("$.code", "an integer of 64 bits")
    trace_id = text(payload, "trace_id", "$")
    if code != 0:
        return Delta("query", code, _message(payload), trace_id)
    return _success(payload, index, trace_id)


def _message(payload: Object) -> str | None:
    """What the provider says of a failure: an object, or no more than words."""
    if type(payload.get("error")) is str:
        return text(payload, "error", "$") or None
    error = mapping(payload, "error", "$") or {}
    return text(error, "msg", "$.error") or text(payload, "message", "$")


def _success(payload: Object, index: str, trace_id: str | None) -> Delta:
    data = mapping(payload, "data", "$")
    if data is None or not any(name in data for name in _SHAPES):
        refuse("$.data", f"an object with one of {', '.join(_SHAPES)}")
    papers = _papers(data, index)
    hits = [
        _hit(variable, f"$.data.variables[{rank - 1}]", rank, index, papers)
        for rank, variable in enumerate(objects(data, "variables", "$.data"), 1)
    ]
    named, links = chains.read(data, index)
    sources = chains.sources(data, index, links)
    return Delta(_item_kind(data), 0, None, trace_id, None, hits, papers, named, links, sources)


def _item_kind(data: Object) -> ItemKind:
    if "variables" in data:
        return "query"
    return "paper" if data.keys() & set(_SHAPES) == {"papers"} else "claim_chain"


def _hit(variable: Object, path: str, rank: int, index: str, papers: dict[str, Fields]) -> Hit:
    provenance = mapping(variable, "provenance", path) or {}
    paper_keys = _paper_keys(provenance, f"{path}.provenance", index)
    inline = mapping(variable, "paper", path)
    if inline is not None and paper_keys and paper_keys[0] not in papers:
        papers[paper_keys[0]] = _paper_fields(inline, f"{path}.paper")
    return Hit(
        rank,
        source_key(index, "variable", key(variable, "id", path)),
        number(variable, "score", path),
        paper_keys,
        [],
        chains.variable(variable, path),
    )


def _paper_keys(provenance: Object, path: str, index: str) -> list[str]:
    packages = keys(provenance, "source_packages", path)
    place = mapping(provenance, "representative_lcn", path)
    if place is not None and place.get("package_id") is not None:
        first = key(place, "package_id", f"{path}.representative_lcn")
        packages = [first, *(package for package in packages if package != first)]
    return [source_key(index, "paper", bare_id(package)) for package in packages]


def _papers(data: Object, index: str) -> dict[str, Fields]:
    if type(data.get("papers")) is list:
        return dict(
            _listed_paper(paper, f"$.data.papers[{position}]", index)
            for position, paper in enumerate(objects(data, "papers", "$.data"))
        )
    papers = mapping(data, "papers", "$.data") or {}
    return dict(_keyed_paper(name, paper, index) for name, paper in papers.items())


def _listed_paper(listed: Object, path: str, index: str) -> tuple[str, Fields]:
    paper = mapping(listed, "paper", path)
    if paper is None:
        paper = listed
    else:
        path = f"{path}.paper"
    return source_key(index, "paper", bare_id(key(paper, "id", path))), _paper_fields(paper, path)


def _keyed_paper(name: str, paper: Any, index: str) -> tuple[str, Fields]:
    path = f"$.data.papers.{name}"
    if type(paper) is not dict:
        refuse(path, "an object")
    key({"": name}, "", path)
    if bare_id(text(paper, "id", path) or name) != bare_id(name):
        refuse(f"{path}.id", "the id that it is filed under")
    return source_key(index, "paper", bare_id(name)), _paper_fields(paper, path)


def _paper_fields(paper: Object, path: str) -> Fields:
    fields = texts(paper, ("doi",), path)
    titles = texts(paper, ("en_title", "zh_title"), path)
    metadata = texts(paper, _PAPER_FIELDS, path)
    for title in titles.values():
        fields["title"] = title
        break
    if metadata:
        fields["metadata"] = metadata
    return fields
