"""`python -m benchmarks.components`: connected components beside scipy's, in one process.

Needs the extra `communities`, which brings scipy: `uv run --extra communities python -m ...`.
"""

import argparse
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks import rows
from benchmarks.measuring import Case, interleaved
from benchmarks.rows import Row
from varvite.checkpoints.recluster import components

SIZES = (1_000_000,)
LINKS_PER_NODE = 5
PATH_NODES = 1_000


def measured(sizes: Sequence[int], rounds: int) -> Iterator[Row]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    def scipy_components(count, nodes, others):
        ones = np.ones(len(nodes), np.int8)
        graph = coo_array((ones, (nodes, others)), shape=(count, count))
        return connected_components(graph, directed=False)[1]

    for count in sizes:
        for shape, make in (("random links", _random), ("paths", _paths)):
            nodes, others = make(count)
            ours = components.in_arrays(count, nodes, others)
            theirs = scipy_components(count, nodes, others)
            first = np.full(theirs.max() + 1, count)
            np.minimum.at(first, theirs, np.arange(count))
            assert np.array_equal(ours, first[theirs])
            cases = [
                Case("ours", lambda _: components.in_arrays(count, nodes, others)),  # noqa: B023
                Case("scipy", lambda _: scipy_components(count, nodes, others)),  # noqa: B023
            ]
            spent = interleaved(cases, rounds, warm_up=1)
            facts = {"links": float(len(nodes)), "components": float(len(first))}
            yield Row(
                f"components, {shape}",
                count,
                spent["ours"],
                "scipy",
                spent["scipy"],
                1.3,
                facts=facts,
            )


def _random(count):
    """Five links a node, all over."""
    rng = np.random.default_rng(1)
    ends = rng.integers(0, count, (2, LINKS_PER_NODE * count), np.int64)
    return ends.min(axis=0), ends.max(axis=0)


def _paths(count):
    """Long paths, whose nodes are numbered at random."""
    numbers = np.random.default_rng(1).permutation(count)
    steps = np.arange(count - 1)
    steps = steps[(steps + 1) % PATH_NODES != 0]
    ends = np.stack([numbers[steps], numbers[steps + 1]])
    return ends.min(axis=0), ends.max(axis=0)


def main(given: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.components", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=SIZES, help="of the graphs")
    parser.add_argument("--rounds", type=int, default=9, help="medians of so many")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args(given)
    found = []
    print(rows.head())
    for row in measured(options.nodes, options.rounds):
        found.append(row)
        print(rows.line(row), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(rows.document(found) + "\n")
    return found


if __name__ == "__main__":
    main()
