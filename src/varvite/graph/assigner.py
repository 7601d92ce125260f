"""How a text becomes features, in which two texts of one topic are near each other.

A feature is an integer, and so is its weight: sums of them are exact, and the same
in whatever order they are made.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest
from typing import Literal, Protocol

from varvite.errors import InputError
from varvite.graph import features

Method = Literal["lexical", "embedding"]

Embed = Callable[[list[str]], Sequence[Sequence[float]]]
"""A vector for each text; the same text must give the same vector."""

EMBEDDING_FEATURES = 64
"""Components that are kept of a vector: those farthest from zero."""

EMBEDDING_SCALE = 1_000


class Assigner(Protocol):
    """method: what a membership and a signature say they were made with.

    by_rarity: whether its features are weighed by how rare they are in the session.
    term_weight: what a bucket's own words count for, where a node counts for its weights.
    """

    @property
    def method(self) -> Method: ...
    @property
    def by_rarity(self) -> bool: ...
    @property
    def term_weight(self) -> int: ...
    def features(self, texts: list[str]) -> list[Mapping[int, int]]:
        """The features of each text with their weights, from 1."""
        ...


class Lexical:
    """Hashed word n-grams. Needs no model, and is a function of the text alone."""

    method: Method = "lexical"
    by_rarity = True
    term_weight = 96

    def features(self, texts: list[str]) -> list[Mapping[int, int]]:
        return [dict.fromkeys(features.of(text), 1) for text in texts]


class Embedding:
    """A caller's vectors: each component is one feature above zero and another below it."""

    method: Method = "embedding"
    by_rarity = False
    term_weight = 6

    def __init__(self, embed: Embed) -> None:
        self._embed = embed

    def features(self, texts: list[str]) -> list[Mapping[int, int]]:
        """The features of each text; one call for all of them.

        Raises:
            InputError: not one vector a text, or a component that is no finite number.
        """
        vectors = list(self._embed(texts)) if texts else []
        if len(vectors) != len(texts):
            raise InputError(f"the embedding gave {len(vectors)} vectors for {len(texts)} texts")
        return [_quantised(vector) for vector in vectors]


def assigner_of(given: "Assigner | Embed | None") -> Assigner:
    """The assigner itself, one around an embedding function, or the lexical one."""
    if given is None:
        return Lexical()
    return Embedding(given) if callable(given) else given


def _quantised(vector: Sequence[float]) -> dict[int, int]:
    if not all(math.isfinite(component) for component in vector):
        raise InputError("the embedding gave a component that is no finite number")
    most = max(map(abs, vector), default=0.0)
    if most == 0:
        return {}
    kept = nlargest(EMBEDDING_FEATURES, enumerate(vector), key=lambda pair: abs(pair[1]))
    weights = {
        2 * place + (component < 0): round(EMBEDDING_SCALE * abs(component) / most)
        for place, component in kept
    }
    return {feature: weight for feature, weight in weights.items() if weight}
