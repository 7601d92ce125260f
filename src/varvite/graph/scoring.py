"""How much a focus calls for work: a sum over a few features, each kept up by delta.

No feature is a belief or a provider's score; those of the evidence stay out of it.
"""

from typing import Any

from varvite.graph.table import Record

NEED = {"missing": 1.0, "thin": 0.8, "partial": 0.5, "covered": 0.2, "out_of_scope": 0.0}
PRIORITY = {"high": 1.0, "medium": 0.5, "low": 0.0}
WEIGHTS = {
    "priority": 3.0,
    "need": 2.0,
    "controversy": 2.0,
    "overdue": 1.5,
    "pressure": 0.5,
    "evidence": 2.5,
    "bridge": 0.25,
}
PRESSURE_FULL = 4
"""Open obligations beyond which more of them press no harder."""
READY_AT = 2
"""New pieces of evidence from which a relation can be looked for."""


def score(focus: Record) -> float:
    """The focus's score from its features; rounded, so that it is the same everywhere."""
    parts = _parts(focus)
    return round(sum(WEIGHTS[name] * value for name, value in parts.items()), 6)


def fresh(focus: Record) -> int:
    """How many pieces of its evidence are new."""
    return sum(bool(one["new"]) for one in focus["evidence_refs"])


def _parts(focus: Record) -> dict[str, float]:
    features: dict[str, Any] = focus["features"]
    coverage = [NEED[status] for status in features["coverage"].values()]
    return {
        "priority": PRIORITY[focus["priority"]],
        "need": max(coverage, default=0.0),
        "controversy": float(features["controversy"]),
        "overdue": float(features["overdue"] > 0),
        "pressure": min(focus["open_obligations"], PRESSURE_FULL) / PRESSURE_FULL,
        "evidence": min(fresh(focus), READY_AT) / READY_AT,
        "bridge": float(len(focus["bucket_ids"]) > 1),
    }
