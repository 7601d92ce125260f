"""Times one way to sort: `python sorts.py WAY SEED`. Stands alone; prints a METRIC line."""

import heapq
import random
import sys
import time
from collections.abc import Callable

SIZE = 2000
REPEATS = 3


def bubble(values: list[float]) -> list[float]:
    for end in range(len(values) - 1, 0, -1):
        for at in range(end):
            if values[at] > values[at + 1]:
                values[at], values[at + 1] = values[at + 1], values[at]
    return values


def insertion(values: list[float]) -> list[float]:
    for end in range(1, len(values)):
        value, at = values[end], end
        while at and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    return values


def merge(values: list[float]) -> list[float]:
    if len(values) < 2:  # noqa: PLR2004  (one value is sorted)
        return values
    middle = len(values) // 2
    return list(heapq.merge(merge(values[:middle]), merge(values[middle:])))


def heap(values: list[float]) -> list[float]:
    heapq.heapify(values)
    return [heapq.heappop(values) for _ in range(len(values))]


def hopeful(values: list[float]) -> list[float]:
    """Fails its check, as an idea may."""
    return values


WAYS: dict[str, Callable[[list[float]], list[float]]] = {
    "bubble": bubble,
    "insertion": insertion,
    "merge": merge,
    "heap": heap,
    "hopeful": hopeful,
    "builtin": sorted,
}


def best_ms(way: str, seed: int) -> float:
    """The quickest of some repeats, in milliseconds.

    Raises:
        ValueError: what it gives is not sorted.
    """
    rng = random.Random(seed)  # noqa: S311  (no secret)
    values = [rng.random() for _ in range(SIZE)]
    took = []
    for _ in range(REPEATS):
        given = list(values)
        began = time.perf_counter()
        found = WAYS[way](given)
        took.append(time.perf_counter() - began)
        if list(found) != sorted(values):
            raise ValueError(f"{way} does not sort")
    return min(took) * 1000


if __name__ == "__main__":
    print(f"METRIC total_ms={best_ms(sys.argv[1], int(sys.argv[2])):.3f}")  # noqa: T201
