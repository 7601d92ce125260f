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

    __slots__ = ("_head_least", "_norm2", "_pairs", "head", "weights")

    def __init__(self, weights: Mapping[int, int]) -> None:
        self.weights = dict(weights)
        self._pairs = {one: _pair(one, weight) for one, weight in weights.items()}
        self._norm2 = sum([weight * weight for weight in weights.values()])
        self._settle()

    def add(self, node: Weighed) -> None:
        """Add the node's features to the sum, as far as it is kept."""
        weights, pairs, others = self.weights, self._pairs, node.weights
        known = weights.keys() & others.keys()
        norm2 = self._norm2
        for feature in known:
            before, weight = weights[feature], others[feature]
            weights[feature] = before + weight
            pairs[feature] += weight << _FEATURE_BITS
            norm2 += weight * (2 * before + weight)
        self._norm2 = norm2
        entering = self._entering(node, len(known))
        for feature, weight in entering.items():
            weights[feature], pairs[feature] = weight, _pair(feature, weight)
            self._norm2 += weight * weight
        if entering or any(pairs[feature] > self._head_least for feature in known - self.head):
            self._settle()

    def _entering(self, node: Weighed, known: int) -> dict[int, int]:
        """The node's new features: all while there is room, then those that outweigh another.

        known: how many of its features are not new.
        """
        if known == len(node.weights):
            return {}
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
        pairs = sorted(self._pairs.values(), reverse=True)
        return [_LOW - (pair & _LOW) for pair in pairs], [pair >> _FEATURE_BITS for pair in pairs]

    def _settle(self) -> None:
        """Keep the heaviest."""
        pairs = sorted(self._pairs.values(), reverse=True)
        for pair in pairs[FEATURES_MAX:]:
            feature = _LOW - (pair & _LOW)
            self._norm2 -= self.weights.pop(feature) ** 2
            del self._pairs[feature]
        self.head = frozenset([_LOW - (pair & _LOW) for pair in pairs[:HEAD]])
        self._head_least = pairs[min(HEAD, len(pairs)) - 1] if pairs else 0


def _pair(feature: int, weight: int) -> int:
    """Weight and feature in one integer, which sorts as fast as integers do."""
    return (weight << _FEATURE_BITS) | (_LOW - feature)
