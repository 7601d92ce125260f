"""The calls by name, as both ways of reaching Gaia make them. Arguments and answers are JSON."""

from collections.abc import Callable
from typing import Any

from . import checking, dependencies, gate, inquiry, lkm, probing, relations, shards, sources
from .cost import Meter, cpu_s

CALLS: dict[str, Callable[..., Any]] = {
    "probe": probing.probe,
    "open_package": checking.describe,
    "add_source_shard": shards.add_source_shard,
    "add_package": dependencies.add_package,
    "sync_obligations": inquiry.sync_obligations,
    "set_focus": inquiry.set_focus,
    "add_hypotheses": inquiry.add_hypotheses,
    "write_candidates": relations.write_candidates,
    "promote": gate.promote,
    "demote": gate.demote,
    "check": checking.check,
    "packages": checking.packages,
    "fetch": lkm.fetch,
    "materialise": sources.materialise,
}


def run(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """`value`, and the CPU seconds of Gaia (`gaia_s`) and of us (`ours_s`).

    Raises:
        Fault
    """
    meter, start = Meter(), cpu_s()
    value = CALLS[name](meter, **arguments)
    return {
        "value": value,
        "gaia_s": meter.gaia_s,
        "ours_s": max(0.0, cpu_s() - start - meter.gaia_s),
    }
