"""The chains of a response: what they name and how it hangs together.

Two shapes: factors with their premises and conclusion inside (`evidence_chains`),
and a graph whose nodes are claims, questions and factors (`reasoning_chains`, and
`papers`, where a paper has one of its own).
"""

from collections.abc import Iterator

from varvite.graph.delta import Fields, Link, Named, bare_id, filled, source_key
from varvite.graph.shape import Object, key, mapping, objects, refuse, text, texts

_GLOBAL = ("paper:", "gcn_", "gfac_")
"""How ids begin that are one thing's in all papers."""

_VARIABLE_FIELDS = ("type", "role", "title", "content", "content_hash")
_NOT_A_PREMISE = {"subproblem_of"}


def read(data: Object, index: str) -> tuple[list[Named], list[Link]]:
    """Everything that `data` names outside its search hits, with all that it says of each."""
    named: list[Named] = []
    links: list[Link] = []
    claim = mapping(data, "claim", "$.data")
    if claim is not None:
        named.append(_named(claim, "$.data.claim", index))
    for position, chain in enumerate(objects(data, "evidence_chains", "$.data")):
        _evidence(chain, f"$.data.evidence_chains[{position}]", index, named, links)
    for position, chain in enumerate(objects(data, "reasoning_chains", "$.data")):
        papers = _paper_keys(chain, f"$.data.reasoning_chains[{position}]", index)
        _graph(chain, f"$.data.reasoning_chains[{position}]", index, papers, named, links)
    for position, paper_id, paper in _papers_with_graphs(data):
        papers = [source_key(index, "paper", paper_id)]
        _graph(paper, f"$.data.papers[{position}]", index, papers, named, links, within=paper_id)
    return _merged(named), links


def _merged(named: list[Named]) -> list[Named]:
    """Each thing once, at its first place; what that place does not tell, another may."""
    met: dict[str, Named] = {}
    for one in named:
        first = met.get(one.source_key, one)
        papers = list(dict.fromkeys(first.paper_keys + one.paper_keys))
        met[one.source_key] = Named(one.source_key, papers, one.node | first.node)
    return list(met.values())


def sources(data: Object, index: str, links: list[Link]) -> list[tuple[str, str]]:
    """What the response has whole: papers with their graphs, and the claim of its chains.

    Where chains name no claim, those are meant that something concludes and nothing uses.
    """
    found = [("paper", source_key(index, "paper", one)) for _, one, _ in _papers_with_graphs(data)]
    if data.get("evidence_chains") or data.get("reasoning_chains"):
        claim = mapping(data, "claim", "$.data")
        if claim is not None:
            claims = [source_key(index, "variable", key(claim, "id", "$.data.claim"))]
        else:
            used = {link.src for link in links}
            claims = [one.dst for one in links if one.kind == "concludes" and one.dst not in used]
        found += [("variable", one) for one in dict.fromkeys(claims)]
    return found


def _papers_with_graphs(data: Object) -> Iterator[tuple[int, str, Object]]:
    """Place, paper id and entry of each listed paper that comes with its graph."""
    if type(data.get("papers")) is not list:
        return
    for position, listed in enumerate(objects(data, "papers", "$.data")):
        if listed.get("graph") is not None:
            path = f"$.data.papers[{position}]"
            paper = mapping(listed, "paper", path)
            told, path = (listed, path) if paper is None else (paper, f"{path}.paper")
            yield position, bare_id(key(told, "id", path)), listed


def variable(value: Object, path: str) -> Fields:
    node = texts(value, _VARIABLE_FIELDS, path)
    node["node_kind"] = "variable"
    if "type" in node:
        node["variable_type"] = node.pop("type")
    return node


def _named(value: Object, path: str, index: str) -> Named:
    return Named(source_key(index, "variable", key(value, "id", path)), [], variable(value, path))


def _evidence(chain: Object, path: str, index: str, named: list[Named], links: list[Link]) -> None:
    papers = _paper_keys(chain, path, index)
    questions = [
        text(question, "content", f"{path}.motivating_questions[{position}]")
        for position, question in enumerate(objects(chain, "motivating_questions", path))
    ]
    for position, value in enumerate(objects(chain, "factors", path)):
        at = f"{path}.factors[{position}]"
        own_key = source_key(index, "factor", _provider_id(value, at))
        factor = _factor(value, at, own_key, papers, [text for text in questions if text])
        named.append(factor)
        _factor_links(value, at, index, factor.source_key, named, links)


def _factor_links(
    value: Object, path: str, index: str, factor: str, named: list[Named], links: list[Link]
) -> None:
    for position, premise in enumerate(objects(value, "premises", path)):
        named.append(_named(premise, f"{path}.premises[{position}]", index))
        links.append(Link("premise_of", "variable", named[-1].source_key, "factor", factor))
    conclusion = mapping(value, "conclusion", path)
    if conclusion is None:
        refuse(f"{path}.conclusion", "an object")
    named.append(_named(conclusion, f"{path}.conclusion", index))
    links.append(Link("concludes", "factor", factor, "variable", named[-1].source_key))


def _factor(
    value: Object, path: str, own_key: str, papers: list[str], questions: list[str]
) -> Named:
    steps = [
        text(step, "reasoning", f"{path}.steps[{position}]") or ""
        for position, step in enumerate(objects(value, "steps", path))
    ]
    metadata = filled(
        factor_type=text(value, "factor_type", path),
        subtype=text(value, "subtype", path),
        questions=questions or None,
    )
    node = filled(node_kind="factor", content="\n".join(steps), metadata=metadata or None)
    return Named(own_key, papers, node)


def _graph(
    owner: Object,
    path: str,
    index: str,
    papers: list[str],
    named: list[Named],
    links: list[Link],
    *,
    within: str | None = None,
) -> None:
    """within: the paper whose graph it is; ids that are local are told apart by it."""
    graph = mapping(owner, "graph", path)
    if graph is None:
        refuse(f"{path}.graph", "an object")
    met: dict[str, Named] = {}
    for position, value in enumerate(objects(graph, "nodes", f"{path}.graph")):
        at = f"{path}.graph.nodes[{position}]"
        local_id = key(value, "id", at)
        met[local_id] = _graph_node(value, local_id, at, index, papers, within)
        named.append(met[local_id])
    for position, edge in enumerate(objects(graph, "edges", f"{path}.graph")):
        links.append(_graph_link(edge, f"{path}.graph.edges[{position}]", met))


def _graph_node(
    value: Object, local_id: str, path: str, index: str, papers: list[str], within: str | None
) -> Named:
    provider_id = _provider_id(value, path)
    if within is not None and not provider_id.startswith(_GLOBAL):
        provider_id = f"paper:{within}::{provider_id}"
    if text(value, "type", path) == "factor":
        return _factor(value, path, source_key(index, "factor", provider_id), papers, [])
    if within is None:
        of_paper = local_id.startswith("paper:")
        papers = [source_key(index, "paper", bare_id(local_id))] if of_paper else []
    return Named(source_key(index, "variable", provider_id), papers, variable(value, path))


def _graph_link(edge: Object, path: str, met: dict[str, Named]) -> Link:
    ends = []
    for end in ("source", "target"):
        name = key(edge, end, path)
        if name not in met:
            refuse(f"{path}.{end}", "the id of a node of this graph")
        ends.append(met[name])
    kind, (src, dst) = key(edge, "type", path), ends
    src_kind, dst_kind = src.node["node_kind"], dst.node["node_kind"]
    if dst_kind == "factor" and kind not in _NOT_A_PREMISE:
        kind = "premise_of"
    return Link(kind, src_kind, src.source_key, dst_kind, dst.source_key)


def _provider_id(value: Object, path: str) -> str:
    """A graph's ids may be local to a paper; the global one, where given, is the identity."""
    name = "id" if value.get("global_id") is None else "global_id"
    return key(value, name, path)


def _paper_keys(chain: Object, path: str, index: str) -> list[str]:
    if chain.get("source_package") is None:
        return []
    return [source_key(index, "paper", bare_id(key(chain, "source_package", path)))]
