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
    """Features of one node with their weights, and the square of their length."""

    weights: Mapping[int, int]
    norm2: int


def weighed(weights: Mapping[int, int]) -> Weighed:
    return Weighed(weights, sum(weight * weight for weight in weights.values()))


class Signature:
    """weights: by feature. head: the heaviest features; among equals the smaller ones."""

    def __init__(self, weights: dict[int, int]) -> None:
        self.weights = weights
        self._settle()

    def add(self, node: Weighed) -> None:
        weights = self.weights
        full = len(weights) >= FEATURES_MAX
        least = min(weights.values()) if full else 0
        for feature, weight in node.weights.items():
            if feature in weights:
                weights[feature] += weight
            elif weight >= least:
                weights[feature] = weight
        self._settle()

    def similarity(self, node: Weighed) -> int:
        """The cosine of node and sum, in millionths; 0 where either is empty."""
        common = self.weights.keys() & node.weights.keys()
        if not common:
            return 0
        dot = sum(self.weights[feature] * node.weights[feature] for feature in common)
        return SCALE * dot // isqrt(self._norm2 * node.norm2)

    def record(self) -> dict[str, list[int]]:
        """Features and their weights, the heaviest first."""
        return {"features": list(self.weights), "weights": list(self.weights.values())}

    def _settle(self) -> None:
        """Order by weight and keep the heaviest."""
        order = sorted(
            (
                (weight << _FEATURE_BITS) | (_LOW - feature)
                for feature, weight in self.weights.items()
            ),
            reverse=True,
        )[:FEATURES_MAX]
        self.weights = {_LOW - (pair & _LOW): pair >> _FEATURE_BITS for pair in order}
        self.head = frozenset(_LOW - (pair & _LOW) for pair in order[:HEAD])
        self._norm2 = sum(weight * weight for weight in self.weights.values())
