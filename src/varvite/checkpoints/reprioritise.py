"""The order of all focuses together, with the reasons.

A continuation rescores a focus only where something touched it; this looks at all of them,
at what came since each was answered, and at none of the priorities that they have.
"""

from collections.abc import Iterator, Sequence
from math import log1p
from typing import Any

import pyarrow as pa

from varvite.checkpoints.job import Job, Parameter, Proposal, Stage
from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers
from varvite.graph.scoring import NEED, PRESSURE_FULL, WEIGHTS
from varvite.graph.upkeep import ITEMS_MAX, PRIORITISE

REQUIRED, STALE = 1.0, 1.0
"""Weights beside those of a focus's own score."""
STALE_FULL = 20
"""Steps without an answer beyond which more of them say no more."""
DIGITS = 6
_ORDER = pa.schema(
    {
        "place": pa.int64(),
        "focus_id": pa.string(),
        "question": pa.string(),
        "status": pa.string(),
        "priority": pa.string(),
        "proposed": pa.string(),
        "urgency": pa.float64(),
        "reasons": pa.list_(pa.string()),
    }
)

Facts = dict[str, Any]
"""A row of `focus_facts`."""


def _collect(run: Run) -> dict[str, Any]:
    run.report("collecting", 0, 1)
    return {"focuses": run.make("focus_facts")}


def _order(run: Run) -> dict[str, Any]:
    facts = [row for batch in run.engine.batches("focus_facts") for row in batch.to_pylist()]
    run.report("ordering", 0, len(facts))
    high, medium = run.parameters["high"], run.parameters["medium"]
    rows = ordered(facts, high=high, medium=medium)
    run.put("focus_order", pa.Table.from_pylist(rows, _ORDER))
    return {"changed": sum(row["proposed"] != row["priority"] for row in rows)}


def ordered(facts: Sequence[Facts], *, high: int, medium: int) -> list[dict[str, Any]]:
    """The rows of `focus_order`: the most urgent first, by id among equals.

    high, medium: how many of the first become so.
    """
    most = max((one["evidence_since"] for one in facts), default=0)
    found = [(one, parts(one, most)) for one in facts]
    found.sort(key=lambda one: (-_sum(one[1]), one[0]["focus_id"]))
    return [
        {name: one[name] for name in ("focus_id", "question", "status", "priority")}
        | {"place": place, "urgency": _sum(each), "reasons": _reasons(one, each)}
        | {"proposed": _level(place, _sum(each), high, medium)}
        for place, (one, each) in enumerate(found, 1)
    ]


def parts(one: Facts, most: int) -> dict[str, float]:
    """What each reason adds. most: the nodes that came since, of the focus with most of them."""
    worst = next((name for name in ("missing", "thin", "partial", "covered") if one[name]), None)
    shares = {
        "need": NEED[worst] if worst else 0.0,
        "controversy": float(one["controversy"]),
        "overdue": float(one["overdue"] > 0),
        "pressure": min(one["open_obligations"], PRESSURE_FULL) / PRESSURE_FULL,
        "evidence": log1p(one["evidence_since"]) / log1p(most) if most else 0.0,
        "bridge": float(one["buckets"] > 1),
    }
    return {name: WEIGHTS[name] * share for name, share in shares.items()} | {
        "required": REQUIRED * one["required"],
        "stale": STALE * min(one["steps_since"], STALE_FULL) / STALE_FULL,
    }


def _sum(parts: dict[str, float]) -> float:
    return round(sum(parts.values()), DIGITS)


def _level(place: int, urgency: float, high: int, medium: int) -> str:
    if not urgency or place > high + medium:
        return "low"
    return "high" if place <= high else "medium"


def _reasons(one: Facts, parts: dict[str, float]) -> list[str]:
    """In words, those that add most first."""
    since = "its last answer" if one["answered"] else "the beginning, never answered"
    words = {
        "need": f"{one['missing']} missing, {one['thin']} thin, {one['partial']} partial, "
        f"{one['covered']} covered buckets",
        "controversy": "something speaks against something, undecided",
        "overdue": f"{one['overdue']} obligations overdue",
        "pressure": f"{one['open_obligations']} open obligations",
        "evidence": f"{one['evidence_since']} nodes since {since}",
        "bridge": f"ties {one['buckets']} buckets together",
        "required": "a required bucket is not covered",
        "stale": f"{one['steps_since']} steps since {since}",
    }
    by_weight = sorted(parts, key=lambda name: (-parts[name], name))
    return [f"{name} {parts[name]:.2f}: {words[name]}" for name in by_weight if parts[name]]


def _proposals(answers: Answers) -> Iterator[Proposal]:
    session = answers.receipt.session_id or ""
    changed = [
        [row["focus_id"], row["proposed"]]
        for row in answers.table("focus_order").to_pylist()
        if row["proposed"] != row["priority"]
    ]
    for at in range(0, len(changed), ITEMS_MAX):
        yield Proposal(session, PRIORITISE, {"priorities": changed[at : at + ITEMS_MAX]})


JOB = Job(
    "reprioritise",
    "Orders all open focuses by what each calls for, and says why.",
    stages=(
        Stage("collect", _collect, ("focus_facts",)),
        Stage("order", _order, ("focus_order",)),
    ),
    kind="graph",
    parameters={
        "high": Parameter(8, "focuses that become of high priority", 0, 10_000),
        "medium": Parameter(24, "those after them that become of medium priority", 0, 10_000),
    },
    proposals=_proposals,
)
