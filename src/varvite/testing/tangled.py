"""Few claims with many ties that come, change and go, so that questions join and part."""

from collections.abc import Callable, Iterator
from random import Random

from varvite.samples.tensions import Record, focus

CLAIMS = 14
IDS = 10
"""Of edges, and half as many of candidates and focuses, so that most records are revisions."""
QUESTIONS = 4


def records(seed: int, count: int) -> Iterator[Record]:
    """Records of a graph session; those of one id replace one another."""
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    makers: tuple[Callable[[Random], Record], ...] = (
        _edge,
        _edge,
        _edge,
        _candidate,
        _node,
        _focus,
    )
    for _ in range(count):
        yield rng.choice(makers)(rng)


def _claim(rng: Random) -> str:
    return f"c{rng.randrange(CLAIMS):02}"


def _edge(rng: Random) -> Record:
    src, dst = (f"c{one:02}" for one in rng.sample(range(CLAIMS), 2))
    made = {
        "stream": "edges",
        "id": f"e{rng.randrange(IDS)}",
        "edge_kind": rng.choice(("supports", "opposes", "contradicts")),
        "src": src,
        "dst": dst,
        "status": rng.choice(("active", "active", "retracted")),
    }
    of = {"candidate_id": f"k{rng.randrange(IDS // 2)}"} if rng.random() < 1 / 3 else {}
    return made | of


def _candidate(rng: Random) -> Record:
    asked: tuple[Record, ...] = (
        {"focus_id": f"f{rng.randrange(QUESTIONS)}"},
        {"tension_group": "g"},
        {},
        {},
    )
    return {
        "stream": "candidates",
        "id": f"k{rng.randrange(IDS // 2)}",
        "relation_type": "opposes",
        "pattern": rng.choice(("contradict", "exclusive")),
        "status": rng.choice(("candidate", "promoted", "rejected")),
        "validation": "valid",
        "claim": rng.choice(("One of them.", "Not both.")),
        "label": "k",
        "claim_refs": [*sorted({_claim(rng) for _ in range(3)}), "c99"],
    } | rng.choice(asked)


def _node(rng: Random) -> Record:
    said = {
        "subject": f"s{rng.randrange(QUESTIONS)}",
        "polarity": rng.choice(("positive", "negative")),
    }
    return {
        "stream": "nodes",
        "id": _claim(rng),
        "node_kind": "variable",
        "paper_key": f"paper:{rng.randrange(3)}",
        "metadata": rng.choice((said, {})),
    }


def _focus(rng: Random) -> Record:
    return focus(f"f{rng.randrange(QUESTIONS)}", rng.choice(("Which of them?", "Why?")))
