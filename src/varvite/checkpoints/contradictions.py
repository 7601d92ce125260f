"""What stands against what, and which open questions that comes to.

Pairs are found key by key, never all against all: an edge or a candidate is a pair itself;
what is supported and opposed, evidence that supports and opposes, and a subject of which
opposite things are said are keys at which claims stand on either side. After an earlier run
only the keys that a changed record stands at are joined anew.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from varvite.checkpoints.job import Job, Parameter, Proposal, Stage
from varvite.checkpoints.recluster.components import in_arrays
from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers
from varvite.graph.upkeep import ITEMS_MAX, OBLIGE
from varvite.query import statements

ALL = -1
"""The cursor after which everything is new."""
CLAIMS_WIDE = 64
"""Claims of one tension, at most, where nothing but the claims holds it together."""
GROWTH = 4
"""Of a session that is more than so many times what it was, all is read anew."""
_KEPT = {
    "subjects": "opposition_subjects",
    "pairs": "opposition_pairs",
    "hot_keys": "opposition_hot_keys",
}
"""What a run takes over from the one before it, and the statement that makes it."""
_TYPES = {"varchar": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}


def _find(run: Run) -> dict[str, Any]:
    earlier = _earlier(run)
    after = ALL if earlier is None else earlier.receipt.cursor
    since, cap = {"after": after}, {"cap": run.parameters["cap"]}
    _take_over(run, earlier)
    run.report("reading what opposes", 0, 3)
    subjects = run.make("subjects", "opposition_subjects", since)
    touched = _touched(run, since if earlier else None)
    run.make("relations", "opposition_relations", since | cap)
    run.report("finding who stands where", 1, 3)
    run.make("contested", "opposition_contested", since)
    run.make("standing", "opposition_standing", cap)
    run.make("places", "opposition_places")
    hot = run.make("hot_keys", "opposition_hot_keys", since | cap)
    run.report("pairing", 2, 3)
    pairs = run.make("pairs", "opposition_pairs", since | cap)
    mode = "full" if earlier is None else "incremental"
    counts = {"subjects": subjects, "touched": touched, "pairs": pairs, "hot_keys": hot}
    return {"mode": mode, "after": after} | counts


def _earlier(run: Run) -> Answers | None:
    """The run to go on from, if one may."""
    mode = run.parameters["mode"]
    found = run.earlier() if mode != "full" else None
    if found is None or mode == "incremental":
        return found
    (cursor,) = run.cursors.values()
    return found if cursor <= GROWTH * (found.receipt.cursor or 0) else None


def _take_over(run: Run, earlier: Answers | None) -> None:
    for name, statement in _KEPT.items():
        if earlier is None:
            _none(run, f"earlier_{name}", statement)
        else:
            run.engine.load(f"earlier_{name}", earlier.path(name))


def _none(run: Run, table: str, statement: str) -> None:
    """A table of no rows, as the statement would make it."""
    columns = statements.checkpoints()[statement].columns
    fields = [(column.name, _TYPES[column.type]) for column in columns]
    run.put(table, pa.schema(fields).empty_table())


def _touched(run: Run, since: dict[str, Any] | None) -> int:
    """Make `touched`; how many keys are looked at anew, 0 where all are."""
    if since:
        return run.make("touched", "opposition_touched", since)
    _none(run, "touched", "opposition_touched")
    return 0


def _group(run: Run) -> dict[str, Any]:
    run.report("asking what pairs are a question of", 0, 2)
    run.make("tension_keys")
    count = run.make("tension_nodes")
    run.make("tension_links")
    run.report("joining questions", 1, 2)
    run.put("tension_labels", _labels(run, count))
    return {"tension_pairs": run.make("tension_pairs", params={"wide": CLAIMS_WIDE})}


def _labels(run: Run, count: int) -> pa.Table:
    """For each question the least one that it is one with."""
    links = pa.Table.from_batches(run.engine.batches("tension_links"))
    label = in_arrays(count, links["node"].to_numpy(), links["other"].to_numpy())
    return pa.table({"node": np.arange(count), "label": label})


def _rank(run: Run) -> dict[str, Any]:
    run.report("ranking", 0, 1)
    found = run.make("tensions")
    return {"tensions": found}


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
        Stage("find", _find, ("subjects", "pairs", "hot_keys")),
        Stage("group", _group, ("tension_pairs",)),
        Stage("rank", _rank, ("tensions",)),
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
