"""A field with planted communities, made from a seed: to see whether a clustering finds them.

Like the benchmark of Lancichinetti, Fortunato and Radicchi: sizes of communities and degrees
of nodes follow power laws, and every node has the same share of its links outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

SIZE_EXPONENT, DEGREE_EXPONENT = 1.5, 2.5
TRIES = 20


@dataclass(frozen=True, slots=True)
class Planted:
    """communities: of each node, by its number. links: pairs of numbers, the lesser first."""

    communities: list[int]
    links: list[tuple[int, int]]

    def mixing(self) -> float:
        """The share of links that lead out of a community."""
        outside = sum(self.communities[one] != self.communities[two] for one, two in self.links)
        return outside / len(self.links)

    def records(self) -> Iterator[dict[str, Any]]:
        """Records of a graph session: a variable a node, a relation a link."""
        for number, community in enumerate(self.communities):
            yield {
                "stream": "nodes",
                "id": node_id(number),
                "node_kind": "variable",
                "variable_type": "claim",
                "content": f"topic{community} of claim{number}",
            }
        for one, two in self.links:
            ends = {"src": node_id(one), "dst": node_id(two)}
            kind = {"edge_kind": "supports", "origin": "assessment", "status": "active"}
            yield {"stream": "edges", "id": f"edge_{one}_{two}"} | kind | ends


def node_id(number: int) -> str:
    return f"variable_{number:08d}"


def planted(
    seed: int,
    communities: int,
    *,
    mixing: float = 0.3,
    sizes: tuple[int, int] = (12, 120),
    degrees: tuple[int, int] = (6, 40),
) -> Planted:
    """So many communities; the same seed gives the same ones.

    mixing: the share of each node's links that leads outside. sizes, degrees: the bounds of
    the power laws. Time and memory grow with the links.
    """
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    of: list[int] = []
    for number in range(communities):
        of += [number] * _power(rng, SIZE_EXPONENT, *sizes)
    rng.shuffle(of)
    degree = [_power(rng, DEGREE_EXPONENT, *degrees) for _ in of]
    outside = [_share(rng, each * mixing) for each in degree]
    inside: list[list[int]] = [[] for _ in range(communities)]
    for node, community in enumerate(of):
        inside[community] += [node] * (degree[node] - outside[node])
    links: set[tuple[int, int]] = set()
    for stubs in inside:
        _pair(rng, stubs, links, lambda _one, _two: True)
    ends = [node for node, count in enumerate(outside) for _ in range(count)]
    _pair(rng, ends, links, lambda one, two: of[one] != of[two])
    return Planted(of, sorted(links))


def _power(rng: Random, exponent: float, low: int, high: int) -> int:
    """A whole number between the bounds, of a power law."""
    rest = 1 - exponent
    first, last = low**rest, (high + 1) ** rest
    return min(high, int((first + rng.random() * (last - first)) ** (1 / rest)))


def _share(rng: Random, expected: float) -> int:
    """A whole number near the expected one, which it is on average."""
    return int(expected) + (rng.random() < expected % 1)


def _pair(rng: Random, ends: list[int], links: set[tuple[int, int]], allowed: Any) -> None:
    """Tie the ends in pairs at random; what cannot be tied after some tries is left out."""
    for _ in range(TRIES):
        rng.shuffle(ends)
        left: list[int] = []
        for one, two in zip(ends[::2], ends[1::2], strict=False):
            pair = (min(one, two), max(one, two))
            if one == two or pair in links or not allowed(one, two):
                left += pair
            else:
                links.add(pair)
        if len(ends) % 2:
            left.append(ends[-1])
        ends[:] = left
        if len(ends) < 2:  # noqa: PLR2004  (a pair)
            return
