"""What of a few runs was tried before, came to nothing, or was overturned later.

Pure functions over rows, oldest first; the views `similar_runs`, `dead_ends` and
`overturned_discards` say the same of any number of runs. Costs a comparison a pair.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

CHARS_MAX = 300
WORDS_MIN = 3
LIKENESS_MIN = Fraction(4, 5)
FAILED = frozenset({"discard", "crash", "checks_failed", "errored"})
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Idea:
    """A run as far as its idea goes. change: a fingerprint of what was changed."""

    id: str
    ordinal: int | None
    status: str | None
    metric: float | None
    description: str | None
    change: str | None = None
    assumption: str | None = None
    overturns: str | None = None

    @property
    def words(self) -> frozenset[str]:
        """Of the description; none where they are too few to tell an idea."""
        found = words(self.description)
        return found if len(found) >= WORDS_MIN else frozenset()

    @property
    def failed(self) -> bool:
        return self.status in FAILED


class Alike(NamedTuple):
    """A run, the last earlier one that it is like, and in what: change or description."""

    run: Idea
    of: Idea
    alike_in: str
    likeness: float


class Overturned(NamedTuple):
    """A discard, the first later keep that overturns it, and by what: see the view."""

    discard: Idea
    keep: Idea
    overturned_by: str


def words(text: str | None) -> frozenset[str]:
    return frozenset(_WORD.findall((text or "")[:CHARS_MAX].lower()))


def likeness(one: frozenset[str], other: frozenset[str]) -> Fraction:
    """Words in common of all words of both."""
    return Fraction(len(one & other), len(one | other)) if one or other else Fraction(0)


def similar(runs: Sequence[Idea]) -> Iterator[Alike]:
    """Each run that is like an earlier one."""
    for place, run in enumerate(runs):
        found = [one for earlier in runs[:place] if (one := _alike(run, earlier))]
        if found:
            last = max(enumerate(found), key=lambda pair: (*_strength(pair[1]), pair[0]))
            yield last[1]


def dead_ends(runs: Sequence[Idea]) -> list[Alike]:
    """Runs that try again what was discarded or failed when it was last tried."""
    return [one for one in similar(runs) if one.of.failed]


def overturned(runs: Sequence[Idea]) -> list[Overturned]:
    """Discards that a later keep overturned."""
    return [
        found
        for place, run in enumerate(runs)
        if run.status == "discard" and (found := _overturning(run, runs[place + 1 :]))
    ]


def _overturning(discard: Idea, later: Sequence[Idea]) -> Overturned | None:
    for keep in later:
        if keep.status == "keep" and (by := _overturned_by(discard, keep)):
            return Overturned(discard, keep, by)
    return None


def _overturned_by(discard: Idea, keep: Idea) -> str | None:
    alike = _alike(keep, discard)
    if alike:
        return alike.alike_in
    assumed = words(discard.assumption)
    said = keep.overturns == discard.id or (assumed and assumed == words(keep.overturns))
    return "assumption" if said else None


def _alike(run: Idea, of: Idea) -> Alike | None:
    if run.change is not None and run.change == of.change:
        return Alike(run, of, "change", 1.0)
    share = likeness(run.words, of.words)
    return Alike(run, of, "description", float(share)) if share >= LIKENESS_MIN else None


def _strength(found: Alike) -> tuple[bool, float]:
    return found.alike_in == "change", found.likeness


def row(found: Alike) -> dict[str, Any]:
    """A row of the view `dead_ends`, as far as a brief tells it."""
    return {
        "ordinal": found.run.ordinal,
        "status": found.run.status,
        "alike_in": found.alike_in,
        "of_ordinal": found.of.ordinal,
        "of_status": found.of.status,
        "of_metric": found.of.metric,
    }


def overturned_row(found: Overturned) -> dict[str, Any]:
    return {
        "ordinal": found.discard.ordinal,
        "assumption": found.discard.assumption,
        "overturned_by": found.overturned_by,
        "keep_ordinal": found.keep.ordinal,
        "keep_metric": found.keep.metric,
    }
