"""The tensions: pairs that are one question, and what ranks them.

Questions that some pair ties together are a region, and no pair is in two. So after an earlier
run only the regions of pairs that changed are grouped anew, and only their tensions, and those
of changed claims and focuses, are measured anew.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from varvite.checkpoints.contradictions import earlier as before
from varvite.checkpoints.recluster.components import in_arrays
from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers

CLAIMS_WIDE = 64
"""Claims of one tension, at most, where nothing but the claims holds it together."""
_GROUPED = {
    "pairs": "opposition_pairs",
    "questions": "tension_questions",
    "tension_pairs": "tension_pairs",
}
_RANKED = {"tensions": "tensions"}


def group(run: Run) -> dict[str, Any]:
    earlier = before.again(run, run.results["after"])
    since = {"after": before.cursor(earlier)}
    before.take_over(run, earlier, _GROUPED)
    run.report("asking what pairs are a question of", 0, 2)
    _ask(run, earlier, since)
    run.report("joining questions", 1, 2)
    count = run.make("tension_nodes")
    run.make("tension_links")
    run.put("tension_labels", _labels(run, count))
    run.make("questions", "tension_questions")
    pairs = run.make("tension_pairs", params={"wide": CLAIMS_WIDE})
    _moved(run, earlier, since)
    return {"tension_pairs": pairs, "grouped_after": since["after"]}


def _ask(run: Run, earlier: Answers | None, since: dict[str, Any]) -> None:
    """Make `tension_keys` of the pairs that are grouped anew: those in `stale`, or all."""
    if earlier is None:
        before.none(run, "stale", "tension_stale")
        before.none(run, "regions", "tension_regions")
    else:
        run.make("stale", "tension_changed")
        run.make("tension_keys", params=since)
        run.make("regions", "tension_regions")
        run.make("stale", "tension_stale")
    run.make("tension_keys", params=since)


def _labels(run: Run, count: int) -> pa.Table:
    """For each question the least one of its tension, and the least one of its region."""
    links = pa.Table.from_batches(run.engine.batches("tension_links"))
    live = links.filter(links["live"])
    label, region = (
        in_arrays(count, each["node"].to_numpy(), each["other"].to_numpy())
        for each in (live, links)
    )
    return pa.table({"node": np.arange(count), "label": label, "region": region})


def _moved(run: Run, earlier: Answers | None, since: dict[str, Any]) -> None:
    """Make `moved`: the tensions that are measured anew, unless all are."""
    if earlier is None:
        before.none(run, "moved", "tension_moved")
    else:
        run.make("moved", "tension_moved", since)


def rank(run: Run) -> dict[str, Any]:
    earlier = before.again(run, run.results["grouped_after"])
    before.take_over(run, earlier, _RANKED)
    run.report("measuring", 0, 2)
    run.make("tension_measured", params={"after": before.cursor(earlier)})
    run.report("ranking", 1, 2)
    return {"tensions": run.make("tensions")}
