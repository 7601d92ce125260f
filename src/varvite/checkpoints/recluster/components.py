"""Connected components: in SQL, round by round, or in arrays on one machine. Both are the same."""

import numpy as np
import numpy.typing as npt

from varvite.checkpoints.run import Run
from varvite.errors import QueryError

ROUNDS_MAX = 64
Numbers = npt.NDArray[np.int64]


def in_sql(run: Run) -> int:
    """Make `cc_labels` of `cluster_nodes` and `cluster_links`; the rounds that it took.

    Raises:
        QueryError: it did not end, whatever a graph may look like.
    """
    run.make("cc_edges")
    run.make("cc_labels", "cc_init")
    for number in range(1, ROUNDS_MAX + 1):
        run.make("cc_labels", "cc_step")
        changed = run.ask("cc_changed")["changed"][0].as_py()
        run.report("components, variables that moved", changed, 0)
        if not changed:
            return number
    raise QueryError(f"components did not settle in {ROUNDS_MAX} rounds")


def in_arrays(count: int, nodes: Numbers, others: Numbers) -> Numbers:
    """For each of `count` nodes the least number in its component.

    Each round hooks the greater of two roots to the least that is tied to it, and follows
    every node to its root; links within one component are dropped.
    """
    root = np.arange(count, dtype=np.int64)
    while len(nodes):
        low, high = np.minimum(nodes, others), np.maximum(nodes, others)
        np.minimum.at(root, high, low)
        root = _followed(root)
        nodes, others = root[low], root[high]
        apart = nodes != others
        nodes, others = nodes[apart], others[apart]
    return root


def _followed(root: Numbers) -> Numbers:
    """Each node's root, where each one names a lesser one that is nearer to it, or itself."""
    above = root[root]
    while not np.array_equal(above, root):
        root, above = above, above[above]
    return root
