"""How common words are in a session: what makes a rare one count for more.

Learned from the first nodes and then left alone, so a long session pays nothing for
it. Features share slots: the counts are exact for a slot, and the table stays small.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from varvite.graph.table import Record, Table
from varvite.session.kind import Read

SLOTS = 2048
NODES_LEARNED = 256
_PRIOR = 8
VOCABULARY, KEY = "vocabulary", "all"


@lru_cache(NODES_LEARNED)
def rarities(nodes: int) -> list[int]:
    """The weight of what `found` of so many nodes have, for each `found`.

    Twice the binary logarithm of nodes over found, rounded down: at most 16.
    """
    squares = ((nodes + _PRIOR) ** 2 // (found + 1) ** 2 for found in range(nodes + 1))
    return [max(0, square.bit_length() - 1) for square in squares]


class Vocabulary:
    """nodes: how many it has learned from. found: for each slot, how many of them had it."""

    def __init__(self, nodes: int, found: list[int]) -> None:
        self.nodes, self.found = nodes, found
        self.changed = False

    @classmethod
    def read(cls, read: Read) -> "Vocabulary":
        stored = read(VOCABULARY, KEY)
        return cls(*orjson.loads(stored)) if stored else cls(0, [0] * SLOTS)

    def learn(self, features: Mapping[int, int]) -> None:
        """Count a node's features, while there is still something to be learned."""
        if self.nodes >= NODES_LEARNED:
            return
        for slot in {feature % SLOTS for feature in features}:
            self.found[slot] += 1
        self.nodes += 1
        self.changed = True

    def weigh(self, features: Mapping[int, int]) -> dict[int, int]:
        """The features by how rare they are, without those that most nodes have."""
        found, weights = self.found, rarities(self.nodes)
        return {
            feature: weight for feature in features if (weight := weights[found[feature % SLOTS]])
        }

    def record(self) -> dict[str, Any]:
        return {"stream": "vocabulary", "id": KEY, "nodes": self.nodes, "found": self.found}


def _value(record: Record, _read: Read) -> bytes:
    return orjson.dumps((record["nodes"], record["found"]))


TABLES = (Table(VOCABULARY, "vocabulary", lambda record: (record["id"],), _value),)
