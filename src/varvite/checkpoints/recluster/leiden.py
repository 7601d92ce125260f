"""Communities by Leiden: the one module that knows of the extra `communities`."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from varvite.errors import InputError

MODULE = "graspologic_native"
TRIALS, ITERATIONS = 1, 2
_READ_LINKS = 1 << 16
Numbers = npt.NDArray[np.int64]
Link = tuple[str, str, float]


def there() -> bool:
    """Whether the extra is installed. Imports nothing."""
    return find_spec(MODULE) is not None


class Links(Sequence[Link]):
    """Links as Leiden takes them, made while they are read, once: then they are let go of.

    nodes, others, weights: of each link; nobody else should hold them.
    """

    def __init__(self, nodes: Numbers, others: Numbers, weights: Numbers) -> None:
        self._columns: tuple[Numbers, ...] = (nodes, others, weights)

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, place: Any) -> Any:
        node, other, weight = (column[place] for column in self._columns)
        return str(node), str(other), float(weight)

    def __iter__(self) -> Iterator[Link]:
        for start in range(0, len(self), _READ_LINKS):
            part = (column[start : start + _READ_LINKS].tolist() for column in self._columns)
            for node, other, weight in zip(*part, strict=True):
                yield str(node), str(other), float(weight)
        self._columns = (np.empty(0, np.int64),) * 3


def communities(count: int, links: Links, *, seed: int, resolution: float) -> Numbers:
    """A community for each of `count` nodes, named by the least of its numbers.

    The same links in the same order, seed and resolution give the same communities. A node
    without a link is one of its own. Memory: about 280 bytes a link.

    Raises:
        InputError: the extra is not installed.
    """
    found = np.arange(count, dtype=np.int64)
    if not len(links):
        return found
    if not there():
        raise InputError("no Leiden here", hint="install the extra `communities`", path="method")
    from graspologic_native import leiden

    _, named = leiden(links, resolution=resolution, seed=seed, trials=TRIALS, iterations=ITERATIONS)
    members = np.fromiter(map(int, named.keys()), np.int64, len(named))
    labels = np.fromiter(named.values(), np.int64, len(named))
    least = np.full(int(labels.max()) + 1, count, dtype=np.int64)
    np.minimum.at(least, labels, members)
    found[members] = least[labels]
    return found
