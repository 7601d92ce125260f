"""What all experiment sessions together say: what was tried again, and where they disagree.

What an idea is, and when two are alike, is as in the views `ideas` and `similar_ideas`; here
the ideas of different sessions are compared too.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from varvite.checkpoints.job import Job, Parameter, Stage
from varvite.checkpoints.run import Run

_WORDS = pa.schema([("idea", pa.string()), ("word", pa.string())])


def _rate(run: Run) -> dict[str, Any]:
    run.report("rates", 0, 2)
    sessions = run.make("keep_rates")
    rates = pa.Table.from_batches(run.engine.batches("keep_rates"))
    run.report("dead ends", 1, 2)
    totals = {name: pc.sum(rates[name]).as_py() or 0 for name in ("runs", "kept", "failed")}
    dead = run.make("dead_end_runs", "retried_dead_ends")
    return {"sessions_with_runs": sessions, "dead_ends": dead} | totals


def _compare(run: Run) -> dict[str, Any]:
    run.report("ideas", 0, 3)
    ideas = run.make("idea_texts")
    run.put("idea_words", _words(run))
    keys = run.make("shared_keys", "idea_shared_keys")
    hot = run.make("hot_keys", "idea_hot_keys", {"most": run.parameters["most"]})
    run.report("pairs", 1, 3)
    compared = run.make("compared_ideas")
    pairs = run.make("idea_pairs") - ideas
    run.report("tries", 2, 3)
    return {
        "ideas": ideas,
        "idea_keys": keys,
        "hot_keys": hot,
        "compared": compared,
        "idea_pairs": pairs,
        "tries": run.make("tries"),
    }


def _words(run: Run) -> pa.Table:
    """Each idea with each of its words."""
    found = [_WORDS.empty_table()]
    for batch in run.engine.batches("idea_texts"):
        ideas = batch["idea"].cast(pa.string())
        words = pc.split_pattern(ideas, " ")
        owners = ideas.take(pc.list_parent_indices(words))
        found.append(pa.table([owners, pc.list_flatten(words)], schema=_WORDS))
    return pa.concat_tables(found)


def _tell(run: Run) -> dict[str, Any]:
    run.report("near duplicates", 0, 2)
    alike = run.make("near_duplicates")
    run.report("disagreements", 1, 2)
    return {"near_duplicates": alike, "disagreements": run.make("disagreements")}


JOB = Job(
    "experiments",
    "Says what was tried again over all experiment sessions, and where they disagree.",
    stages=(
        Stage("rate", _rate, ("keep_rates", "dead_end_runs")),
        Stage("compare", _compare, ("hot_keys", "tries")),
        Stage("tell", _tell, ("near_duplicates", "disagreements")),
    ),
    kind="experiment",
    wide=True,
    parameters={
        "most": Parameter(200, "ideas of one key that are compared with each other", 2, 10_000),
    },
)
