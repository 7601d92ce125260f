"""The hits of a search that a session takes in: most of them known to it, the others not."""

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

from varvite.samples import words

KNOWN_SHARE = 0.6
CONTENT_CHARS = 780
TRIES_MAX = 1_000


def hits(nodes: str, number: int, size: int) -> list[dict[str, Any]]:
    """The `number`th search's hits. nodes: the stream file; the known ones lie anywhere in it."""
    rng = Random(number)  # noqa: S311  (samples, not secrets)
    known = list(_known(nodes, rng, round(size * KNOWN_SHARE)))
    made = known + [fresh(rng) for _ in range(size - len(known))]
    rng.shuffle(made)
    return [hit | {"score": rng.random()} for hit in made]


def fresh(rng: Random) -> dict[str, Any]:
    """A hit that no session knows, with a paper of its own."""
    paper = rng.getrandbits(59)
    return {
        "id": f"gcn_{rng.getrandbits(64):016x}",
        "content": words.prose(rng, CONTENT_CHARS),
        "paper": {"id": str(paper), "title": words.title(rng), "doi": f"10.1000/bench.{paper}"},
    }


def _known(nodes: str, rng: Random, count: int) -> Iterator[dict[str, Any]]:
    """Variables with a paper, from random places of the file, each once."""
    size = os.path.getsize(nodes)
    found: set[str] = set()
    with open(nodes, "rb") as file:
        for _ in range(TRIES_MAX):
            if len(found) == count:
                return
            file.seek(rng.randrange(size))
            file.readline()
            line = file.readline()
            node = json.loads(line) if line else {}
            if not _searched(node) or node["id"] in found:
                continue
            found.add(node["id"])
            yield hit_of(node)


def hit_of(node: dict[str, Any]) -> dict[str, Any]:
    """A node's record as the hit that made it."""
    return {
        "id": node["source_key"].rpartition(":")[2],
        "content": node["content"],
        "paper": {"id": node["paper_key"].rpartition(":")[2]},
    }


def _searched(node: dict[str, Any]) -> bool:
    return node.get("node_kind") == "variable" and {"content", "paper_key"} <= node.keys()
