"""What the texts of one part of a field have that those of the others have not."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import NamedTuple

from varvite.graph import features

TERMS_MAX = 8
LABEL_TERMS = 3
LEAST_SHARE = 0.2
"""Of a part's texts, those that have a term of it."""


class Term(NamedTuple):
    """share, elsewhere: of the texts of the part, and of the other texts, those that have it."""

    text: str
    share: float
    elsewhere: float


class Texts:
    """The words and pairs of neighbouring words of some texts, by how many of them have each."""

    def __init__(self) -> None:
        self.count = 0
        self.having: Counter[str] = Counter()

    def add(self, text: str) -> None:
        words = features.words(text)
        self.having.update({*words, *(f"{one} {two}" for one, two in pairwise(words))})
        self.count += 1


def distinguishing(parts: Sequence[Texts]) -> list[list[Term]]:
    """The terms of each part that tell it from the others, the most telling first."""
    together = Counter[str]()
    for part in parts:
        together.update(part.having)
    texts = sum(part.count for part in parts)
    return [_told(_terms(part, together, texts)) for part in parts]


def _terms(part: Texts, together: Mapping[str, int], texts: int) -> Iterable[Term]:
    others = texts - part.count + 1
    for text, having in part.having.items():
        share = having / part.count
        if share >= LEAST_SHARE:
            yield Term(text, share, (together[text] - having + 0.5) / others)


def _told(terms: Iterable[Term]) -> list[Term]:
    """The best terms of which none is a part of another."""
    ranked = sorted(terms, key=lambda one: (-one.share * log(one.share / one.elsewhere), one.text))
    told: list[Term] = []
    for one in ranked:
        words = set(one.text.split())
        if one.share > one.elsewhere and not any(words & set(known.text.split()) for known in told):
            told.append(one)
        if len(told) == TERMS_MAX:
            break
    return told


def label(terms: Sequence[Term]) -> str:
    return ", ".join(one.text for one in terms[:LABEL_TERMS])


def telling(text: str, part: Texts) -> float:
    """The share of a part's texts that have the likeliest word of a label; 0 for no texts."""
    shares = (part.having[word] / part.count for word in features.words(text) if part.count)
    return max(shares, default=0.0)
