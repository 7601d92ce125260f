"""A provider's answer as a source package, by Gaia's own materialiser.

It writes in place; so it writes somewhere else, and what it wrote then takes its place.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from . import dependencies, files, statements
from .cost import Meter
from .faults import Answer, Fault, applied
from .package import PACKAGES, Package, isolated, open_package, read
from .publishing import publish, stands

Source = dict[str, Any]


def materialise(meter: Meter, path: str, source: Source) -> Answer:
    """A paper's graph (`paper`) or a claim's chains (`chain`) as a source package of the target.

    The result's `refs` say which claim became which package ref, by the provider's id.

    Raises:
        Fault: not_a_package, package_busy, payload_refused, uv_missing, uv_failed.
    """
    target = open_package(path, meter)
    with files.locked(target.lock), tempfile.TemporaryDirectory() as folder:
        with meter.gaia(), isolated():
            made = _made(source, target.root, folder)
        root = os.path.join(target.root, PACKAGES, made.dist_name)
        files.sweep(root)
        already = stands(str(made.root), root)
        if not already:
            publish(str(made.root), root)
        already = not dependencies.add(target, root, meter) and already
        refs = _refs(read(root))
    return applied(
        source["node_id"], already=already, package=made.dist_name, refs=refs,
        source_ref=made.source_ref, skipped_factors=made.skipped_factor_count,
    )  # fmt: skip


def _made(source: Source, root: str, folder: str) -> Any:
    from gaia.engine import materialize
    from gaia.engine.packaging import GaiaPackagingError

    named = {"index_id": source["index_id"], "project_root": Path(root)}
    named["storage_root"] = Path(folder)
    payload = json.loads(source["payload"])
    try:
        if source["kind"] == "paper":
            return materialize.materialize_lkm_paper_package(
                payload, paper_id=source["source_id"], **named
            )
        return materialize.materialize_lkm_reasoning_chain_package(
            as_reasoning(payload), claim_id=source["source_id"], **named
        )
    except GaiaPackagingError as error:
        raise Fault("payload_refused", str(error)) from None


def _refs(package: Package) -> dict[str, str]:
    module = os.path.join(package.source, "__init__.py")
    found = statements.bound(files.read(module), package.import_name)
    return {
        one.metadata["node_id"]: package.qid(name)
        for name, one in found.items()
        if one.call in {"claim", "question"} and isinstance(one.metadata, dict)
    }


def as_reasoning(payload: Any) -> Any:
    """The answer with its evidence chains as graphs, which alone Gaia takes; others as they are."""
    data: Any = payload.get("data") if isinstance(payload, dict) else None
    chains = data.get("evidence_chains") if isinstance(data, dict) else None
    if not chains:
        return payload
    graphs = [
        {"source_package": chain.get("source_package"), "graph": _graph(chain)} for chain in chains
    ]
    return payload | {"data": data | {"reasoning_chains": graphs}}


def _graph(chain: dict[str, Any]) -> dict[str, Any]:
    """A variable of a chain has no type: it is a claim."""
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[dict[str, str]] = []
    for factor in chain.get("factors") or ():
        given = {name: one for name, one in factor.items() if name not in _ENDS}
        nodes[factor["id"]] = given | {"type": "factor"}
        for premise in factor.get("premises") or ():
            nodes[premise["id"]] = {"type": "claim"} | premise
            edges.append({"source": premise["id"], "target": factor["id"], "type": "premise_of"})
        conclusion = factor["conclusion"]
        nodes[conclusion["id"]] = {"type": "claim"} | conclusion
        edges.append({"source": factor["id"], "target": conclusion["id"], "type": "concludes"})
    return {"nodes": list(nodes.values()), "edges": edges}


_ENDS = frozenset({"premises", "conclusion"})
