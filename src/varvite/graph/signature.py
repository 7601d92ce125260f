"""What the nodes of a bucket have in common: the running sum of their features.

Exact integers, and bounded: of a sum only the heaviest features are kept. So a
signature is a function of its nodes in their order, however they came in batches.
"""

from collections.abc import Mapping
from math import isqrt
from typing import NamedTuple

FEATURES_MAX = 128
HEAD = 32
"""The heaviest features, by which a bucket is found."""

SCALE = 1_000_000
_FEATURE_BITS = 32
_LOW = (1 << _FEATURE_BITS) - 1


class Weighed(NamedTuple):
    """Features of one node with their weights; the square of their length, the largest weight."""

    weights: Mapping[int, int]
    norm2: int
    most: int


def weighed(weights: Mapping[int, int]) -> Weighed:
    values = weights.values()
    return Weighed(weights, sum([one * one for one in values]), max(values, default=0))


class Signature:
    """weights: by feature. head: the heaviest features, of equals the smaller ones."""

    __slots__ = ("_head_least", "_norm2", "head", "weights")

    def __init__(self, weights: Mapping[int, int]) -> None:
        self._settle(dict(weights))

    def add(self, node: Weighed) -> None:
        """Add the node's features to the sum, as far as it is kept."""
        weights = self.weights
        known = weights.keys() & node.weights.keys()
        for feature in known:
            before, weight = weights[feature], node.weights[feature]
            weights[feature] = before + weight
            self._norm2 += weight * (2 * before + weight)
        entering = self._entering(node)
        if entering:
            self._settle({**weights, **entering})
        elif any((weights[feature], -feature) > self._head_least for feature in known - self.head):
            self._settle(weights)

    def _entering(self, node: Weighed) -> dict[int, int]:
        """The node's new features: all while there is room, then those that outweigh another."""
        weights = self.weights
        least = min(weights.values()) if len(weights) >= FEATURES_MAX else 0
        if least >= node.most:
            return {}
        return {
            feature: weight
            for feature, weight in node.weights.items()
            if weight > least and feature not in weights
        }

    def similarity(self, node: Weighed) -> int:
        """The cosine of node and sum, in millionths; 0 where either is empty."""
        own, others = self.weights, node.weights
        common = own.keys() & others.keys()
        if not common:
            return 0
        dot = sum([own[feature] * others[feature] for feature in common])
        return SCALE * dot // isqrt(self._norm2 * node.norm2)

    def ordered(self) -> tuple[list[int], list[int]]:
        """Features and their weights, the heaviest first."""
        pairs = _heaviest(self.weights)
        return [_LOW - (pair & _LOW) for pair in pairs], [pair >> _FEATURE_BITS for pair in pairs]

    def _settle(self, weights: dict[int, int]) -> None:
        """Keep the heaviest."""
        pairs = _heaviest(weights)[:FEATURES_MAX]
        self.weights = {_LOW - (pair & _LOW): pair >> _FEATURE_BITS for pair in pairs}
        self.head = frozenset(list(self.weights)[:HEAD])
        last = min(HEAD, len(pairs)) - 1
        least = pairs[last] if pairs else 0
        self._head_least = (least >> _FEATURE_BITS, (least & _LOW) - _LOW)
        self._norm2 = sum([weight * weight for weight in self.weights.values()])


def _heaviest(weights: Mapping[int, int]) -> list[int]:
    """Weight and feature in one integer each, which sorts as fast as integers do."""
    return sorted(
        [(weight << _FEATURE_BITS) | (_LOW - feature) for feature, weight in weights.items()],
        reverse=True,
    )
