"""What stands against what, and which open questions that comes to."""

from collections.abc import Iterable
from typing import Any

from varvite.checkpoints.contradictions import finding, grouping
from varvite.checkpoints.job import Job, Parameter, Proposal, Stage
from varvite.checkpoints.tables import Answers
from varvite.graph.upkeep import ITEMS_MAX, OBLIGE


def _proposals(answers: Answers) -> Iterable[Proposal]:
    """An obligation for each of the first live tensions, of its clearest claim."""
    session, top = answers.receipt.session_id or "", answers.receipt.parameters["top"]
    found = answers.table("tensions").slice(0, top).to_pylist()
    wanted = [_obligation(one) for one in found if one["live"]]
    for start in range(0, len(wanted), ITEMS_MAX):
        payload = {"obligations": wanted[start : start + ITEMS_MAX]}
        yield Proposal(session, OBLIGE, payload)


def _obligation(tension: dict[str, Any]) -> dict[str, Any]:
    """What it is to be recognised by stays as long as the tension does; `why` may change."""
    kind, _, name = tension["key"].partition(":")
    asks = tension["asks"] or f"{tension['left_id']} against {tension['right_id']}"
    return {
        "content": f"settle {tension['tension_id']}",
        "target_kind": "focus" if kind == "focus" else "node",
        "target_id": name if kind in {"focus", "claim"} else tension["first_id"],
        "kind": "tension",
        "why": f"{asks} ({tension['live_pairs']} pairs of claims)",
        "source_refs": [tension["left_id"], tension["right_id"]],
    }


JOB = Job(
    "contradictions",
    "Claims that something sets against each other, as tensions: open questions, ranked.",
    stages=(
        Stage("find", finding.find, ("subjects", "pairs", "hot_keys", "touched")),
        Stage("group", grouping.group, ("tension_pairs", "questions", "moved")),
        Stage("rank", grouping.rank, ("tensions",)),
    ),
    kind="graph",
    parameters={
        "mode": Parameter(
            "auto",
            "full, or incremental after an earlier run; auto: the latter unless most is new",
            choices=("auto", "full", "incremental"),
        ),
        "cap": Parameter(32, "claims on a side of a key that are paired", 1, 1_000),
        "top": Parameter(20, "tensions that get an obligation when applied", 0, 10_000),
    },
    proposals=_proposals,
)
