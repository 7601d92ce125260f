"""From a session's variables and what ties them to communities of them."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from varvite.checkpoints.recluster import components, leiden
from varvite.checkpoints.run import Run
from varvite.errors import InputError

RESPONSE, PAPER, CHAIN, RELATION = 1_000, 500, 1_000, 1_000
"""What a variable is tied by, in thousandths: being found together, standing in one paper,
being premise or conclusion of one step, and a relation to another variable."""

AUTO, LEIDEN, COMPONENTS = "auto", "leiden", "components"
SQL, ARRAYS = "sql", "arrays"
Numbers = npt.NDArray[np.int64]


def link(run: Run) -> dict[str, Any]:
    """Make `cluster_nodes` and `cluster_links`."""
    most = run.parameters["links"]
    steps = pa.table({"step": pa.array(range(1, most + 1), pa.int64())})
    variables = run.make("cluster_nodes")
    run.put("cluster_steps", steps)
    run.report("what variables have in common", 0, 0)
    run.make("cluster_hubs", params={"response": RESPONSE, "paper": PAPER, "chain": CHAIN})
    run.report("links", 0, 0)
    links = run.make("cluster_links", params={"relation": RELATION, "most": most})
    thinned = run.ask("cluster_thinned", {"most": most}).to_pylist()
    return {"variables": variables, "links": links, "thinned": thinned}


def group(run: Run) -> dict[str, Any]:
    """Make `communities`; which method made them, and how many there are."""
    method, results = _method(run.parameters["method"]), {}
    run.report(f"communities by {method}", 0, 0)
    if method == COMPONENTS:
        results = _components(run)
    else:
        _leiden(run)
    run.make("communities")
    sizes = _sizes(run)
    big = int((sizes >= run.parameters["least"]).sum())
    return {"method": method, "communities": len(sizes), "big": big} | results


def _method(asked: str) -> str:
    if asked == LEIDEN and not leiden.there():
        raise InputError(
            "Leiden is not installed",
            hint="install the extra `communities`, or set method=components",
            path="method",
        )
    if asked == AUTO:
        return LEIDEN if leiden.there() else COMPONENTS
    return asked


def _leiden(run: Run) -> None:
    links = leiden.Links(*_columns(run, "cluster_links", ("node", "other", "weight")))
    count, given = _count(run), run.parameters
    run.engine.drop("cluster_links")  # no later stage reads it, and Leiden needs the room
    found = leiden.communities(count, links, seed=given["seed"], resolution=given["resolution"])
    _put(run, found)


def _components(run: Run) -> dict[str, Any]:
    """In arrays where the engine is in this process; in SQL, the same everywhere, otherwise."""
    how = run.parameters["components"]
    if how == AUTO:
        how = ARRAYS if run.engine.name == "duckdb" else SQL
    if how == SQL:
        rounds = components.in_sql(run)
        run.make("cluster_found", "cluster_components")
        return {"components": how, "rounds": rounds}
    node, other = _columns(run, "cluster_links", ("node", "other"))
    _put(run, components.in_arrays(_count(run), node, other))
    return {"components": how}


def _put(run: Run, found: Numbers) -> None:
    node = pa.array(np.arange(len(found), dtype=np.int64))
    run.put("cluster_found", pa.table({"node": node, "community": pa.array(found)}))


def _columns(run: Run, table: str, names: tuple[str, ...]) -> tuple[Numbers, ...]:
    parts: list[list[Numbers]] = [[np.empty(0, np.int64)] for _ in names]
    for batch in run.engine.batches(table):
        for part, name in zip(parts, names, strict=True):
            part.append(batch[name].to_numpy(zero_copy_only=False))
    return tuple(np.concatenate(part) for part in parts)


def _count(run: Run) -> int:
    return sum(batch.num_rows for batch in run.engine.batches("cluster_nodes"))


def _sizes(run: Run) -> Numbers:
    (community,) = _columns(run, "communities", ("community",))
    return np.bincount(community) if len(community) else np.empty(0, np.int64)
