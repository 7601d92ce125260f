"""Graph records that set claims against each other on purpose, beside ones that agree.

Every topic has claims of its own, so what is planted in one is not met in another. The same
seed gives the same records, and more topics begin with the same ones.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product
from random import Random
from typing import Any, NamedTuple

Record = dict[str, Any]
Pair = tuple[str, str]

EDGES_OF_ONE_QUESTION = 13
LAG_MAX = 5
"""Topics after which a topic's changes come, at most."""


class Topic(NamedTuple):
    """records: what makes it. changes: later revisions, whole. pairs: those that stand in the end.

    dead: pairs that were set against each other, until it was taken back.
    """

    name: str
    records: list[Record]
    changes: list[Record]
    pairs: frozenset[Pair]
    dead: frozenset[Pair] = frozenset()


def topics(seed: int, count: int) -> Iterator[Topic]:
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    for number in range(count):
        make = KINDS[number % len(KINDS)] if number < len(KINDS) else rng.choice(KINDS)
        yield make(_Maker(rng, number))


def records(seed: int, count: int) -> Iterator[Record]:
    """The records of so many topics in the order of a session: changes come a little later."""
    rng, late = Random(f"{seed}/lag"), list[tuple[int, Record]]()  # noqa: S311
    for number, topic in enumerate(topics(seed, count)):
        yield from topic.records
        late += [(number + rng.randrange(1, LAG_MAX), one) for one in topic.changes]
        yield from (one for due, one in late if due <= number)
        late = [(due, one) for due, one in late if due > number]
    yield from (one for _, one in late)


def pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def focus(name: str, question: str) -> Record:
    """A focus that nothing was done about yet."""
    return {
        "stream": "focuses",
        "id": name,
        "question": question,
        "status": "candidate",
        "priority": "medium",
        "readiness": "needs_expand",
        "score": 0.0,
        "queued": False,
        "bucket_ids": [],
        "obligation_ids": [],
        "open_obligations": 0,
        "evidence_refs": [],
        "features": {"coverage": {}, "controversy": False, "overdue": 0},
        "packets": 0,
    }


class _Maker:
    """Records of one topic, with ids of its own."""

    def __init__(self, rng: Random, number: int) -> None:
        self.rng, self.number, self.made = rng, number, list[Record]()
        self._count = 0

    def _id(self, of: str) -> str:
        self._count += 1
        mixed = (self.number * 0x9E3779B97F4A7C15 + self._count) & (2**64 - 1)
        return f"{of}_{mixed:016x}"

    def claim(self, polarity: str | None = None, subject: str | None = None) -> str:
        made: Record = {
            "stream": "nodes",
            "id": self._id("variable"),
            "node_kind": "variable",
            "variable_type": "claim",
            "content": f"what is claimed of topic {self.number}",
            "paper_key": f"paper:{self.rng.randrange(1, 10_000)}",
        }
        if polarity:
            subject = subject or f"Topic {self.number}"
            made["metadata"] = {"subject": subject, "polarity": polarity}
        return self.add(made)

    def claims(self, count: int, polarity: str | None = None) -> list[str]:
        return [self.claim(polarity) for _ in range(count)]

    def edge(self, kind: str, src: str, dst: str, candidate: str | None = None) -> str:
        made = {"stream": "edges", "id": self._id("edge"), "edge_kind": kind, "src": src}
        made |= {"dst": dst, "origin": "assessment", "status": "active"}
        return self.add(made | ({"candidate_id": candidate} if candidate else {}))

    def candidate(self, kind: str, claims: list[str], **fields: Any) -> str:
        own = self._id("candidate")
        made = {
            "stream": "candidates",
            "id": own,
            "relation_type": kind,
            "status": "candidate",
            "validation": "valid",
            "claim": f"how claims of topic {self.number} are related",
            "label": own,
            "claim_refs": claims,
        }
        return self.add(made | fields)

    def focus(self) -> str:
        return self.add(focus(self._id("focus"), f"What holds in topic {self.number}?"))

    def add(self, record: Record) -> str:
        self.made.append(record)
        return str(record["id"])

    def topic(self, name: str, *pairs: Pair, dead: tuple[Pair, ...] = (), **changed: Any) -> Topic:
        """changed: fields of a later revision of the last record."""
        changes = [self.made[-1] | changed] if changed else []
        return Topic(name, self.made, changes, frozenset(pairs), frozenset(dead))


def _same_subject(make: _Maker) -> Topic:
    make.claims(3, make.rng.choice(("positive", "negative")))
    return make.topic("same_subject")


def _opposed_subject(make: _Maker) -> Topic:
    one, other = make.claims(make.rng.randrange(1, 4), "positive"), make.claims(2, "negative")
    other.append(make.claim(" Negative ", f"topic  {make.number}"))
    return make.topic("opposed_subject", *(pair(*both) for both in product(one, other)))


def _changed_mind(make: _Maker) -> Topic:
    one = make.claim("positive")
    other = make.claim("positive")
    said = {"subject": f"topic-{make.number}", "polarity": "negative"}
    return make.topic("changed_mind", pair(one, other), metadata=said)


def _made_up(make: _Maker) -> Topic:
    make.claim("positive")
    make.claim("negative")
    said = {"subject": f"topic {make.number}", "polarity": "positive"}
    return make.topic("made_up", metadata=said)


def _supported(make: _Maker) -> Topic:
    claim, *others = make.claims(4)
    for one in others:
        make.edge("supports", one, claim)
    return make.topic("supported")


def _disputed(make: _Maker) -> Topic:
    claim, yes, no = make.claims(3)
    make.edge("supports", yes, claim)
    make.edge("opposes", no, claim)
    return make.topic("disputed", pair(no, claim), pair(yes, no))


def _settled(make: _Maker) -> Topic:
    claim, yes, no = make.claims(3)
    make.edge("supports", yes, claim)
    make.edge("opposes", no, claim)
    return make.topic("settled", dead=(pair(no, claim),), status="retracted")


def _evidence(make: _Maker) -> Topic:
    evidence, one, other = make.claims(3)
    make.edge("supports", evidence, one)
    make.edge("undercuts", evidence, other)
    return make.topic("evidence", pair(evidence, other), pair(one, other))


def _contradicted(make: _Maker) -> Topic:
    one, other = make.claims(2)
    make.edge(make.rng.choice(("contradicts", "contradiction", "conflict")), one, other)
    return make.topic("contradicted", pair(one, other))


def _assessed(make: _Maker) -> Topic:
    one, other = make.claims(2)
    own = make.candidate("opposes", [one, other], pattern="contradict", focus_id=make.focus())
    make.edge("opposes", one, other, own)
    return make.topic("assessed", pair(one, other))


def _agreed(make: _Maker) -> Topic:
    one, other = make.claims(2)
    own = make.candidate("supports", [one, other], pattern="equal", focus_id=make.focus())
    make.edge("supports", one, other, own)
    make.candidate("qualifies", [one, other])
    return make.topic("agreed")


def _rejected(make: _Maker) -> Topic:
    one, other = make.claims(2)
    status = make.rng.choice(("rejected", "demoted"))
    make.candidate("opposes", [one, other], pattern="contradict")
    make.edge("opposes", one, other, make.made[-1]["id"])
    make.made.append(make.made.pop(-2))
    return make.topic("rejected", dead=(pair(one, other),), status=status)


def _exclusive(make: _Maker) -> Topic:
    claims = make.claims(4)
    make.candidate("opposes", claims, pattern="exclusive", tension_group=f"group {make.number}")
    return make.topic("exclusive", *(pair(*both) for both in combinations(claims, 2)))


def _one_question(make: _Maker) -> Topic:
    """Edges that have nothing in common but their candidates' focus."""
    focus, pairs = make.focus(), []
    for _ in range(EDGES_OF_ONE_QUESTION):
        one, other = make.claims(2)
        own = make.candidate("opposes", [one, other], pattern="contradict", focus_id=focus)
        make.edge("opposes", one, other, own)
        pairs.append(pair(one, other))
    return make.topic("one_question", *pairs)


def _one_claim(make: _Maker) -> Topic:
    """Edges that no question names, and that hang together by their claims."""
    claim, *others = make.claims(1 + EDGES_OF_ONE_QUESTION)
    for one in others:
        make.edge("contradicts", claim, one)
    return make.topic("one_claim", *(pair(claim, one) for one in others))


KINDS: tuple[Callable[[_Maker], Topic], ...] = (
    _same_subject,
    _opposed_subject,
    _changed_mind,
    _made_up,
    _supported,
    _disputed,
    _settled,
    _evidence,
    _contradicted,
    _assessed,
    _agreed,
    _rejected,
    _exclusive,
    _one_question,
    _one_claim,
)
