"""The pairs: found key by key, never all against all.

An edge or a candidate is a pair itself; what is supported and opposed, evidence that supports
and opposes, and a subject of which opposite things are said are keys at which claims stand on
either side. After an earlier run only the keys that a changed record stands at are joined anew.
"""

from typing import Any

from varvite.checkpoints.contradictions import earlier as before
from varvite.checkpoints.run import Run

_KEPT = {
    "subjects": "opposition_subjects",
    "pairs": "opposition_pairs",
    "hot_keys": "opposition_hot_keys",
}
"""What a run takes over from the one before it, and the statement that makes it."""


def find(run: Run) -> dict[str, Any]:
    earlier = before.chosen(run)
    after = before.cursor(earlier)
    since, cap = {"after": after}, {"cap": run.parameters["cap"]}
    before.take_over(run, earlier, _KEPT)
    run.report("reading what opposes", 0, 3)
    subjects = run.make("subjects", "opposition_subjects", since)
    touched = _touched(run, after)
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


def _touched(run: Run, after: int) -> int:
    """Make `touched`; how many keys are looked at anew, 0 where all are."""
    if after != before.ALL:
        return run.make("touched", "opposition_touched", {"after": after})
    before.none(run, "touched", "opposition_touched")
    return 0
