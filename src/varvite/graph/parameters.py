"""The sizes of a graph session's steps: fixed when it is made, kept in `session.json`.

They bound what one step reads and writes, whatever the session has grown to.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from varvite.errors import InputError, StateConflictError


@dataclass(frozen=True, slots=True)
class Parameters:
    """buckets_per_node: buckets that a node goes to at most.
    exemplars, open_gaps: kept of a bucket. assign_at, ambiguous_at: cosines from which a
    node is assigned to a bucket, or left for a decision. partial_nodes, covered_nodes: nodes
    from which a bucket is no longer thin, and from which it is covered where they are from
    covered_papers papers.
    focuses_per_bucket: open focuses that one bucket can be tied to.
    evidence: pieces of evidence in a packet. excerpt_chars: of each one's content.
    strong_score: score from which evidence is strong; without one it counts as 0.
    queue: focuses that wait to be worked on. overdue_after: steps that an obligation may
    stay open. attempts: submissions of one candidate, the first included.
    accept: which variables become part of a Gaia package: those that a valid candidate
    cites, or all.
    """

    buckets_per_node: int = 2
    exemplars: int = 8
    open_gaps: int = 8
    assign_at: float = 0.08
    ambiguous_at: float = 0.04
    partial_nodes: int = 3
    covered_nodes: int = 8
    covered_papers: int = 3
    focuses_per_bucket: int = 16
    evidence: int = 12
    excerpt_chars: int = 500
    strong_score: float = 0.0
    queue: int = 64
    overdue_after: int = 10
    attempts: int = 3
    accept: str = "cited"

    def __post_init__(self) -> None:
        """Hold each value against its bounds.

        Raises:
            InputError: .path of the parameter.
        """
        for field in fields(self):
            _check(field.name, getattr(self, field.name), field.default)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The parameters of a session, or of one to be made.

        Raises:
            InputError: a name that is none, or a value out of bounds.
        """
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise InputError(
                    f"no parameter {name[:80]!r}", hint=f"there are: {', '.join(sorted(known))}"
                )
        return cls(**given)

    def refuse_others(self, wanted: Mapping[str, Any]) -> None:
        """See that these are among them.

        Raises:
            StateConflictError: the session was made with others.
        """
        for name, value in wanted.items():
            if getattr(self, name) != value:
                raise StateConflictError(
                    f"the session was made with {name} {getattr(self, name)}, not {value}",
                    hint="parameters are fixed when a session is made",
                )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


BOUNDS: dict[str, tuple[float, float]] = {
    "buckets_per_node": (1, 8),
    "exemplars": (1, 64),
    "open_gaps": (0, 64),
    "assign_at": (0, 1),
    "ambiguous_at": (0, 1),
    "partial_nodes": (1, 1_000_000),
    "covered_nodes": (1, 1_000_000),
    "covered_papers": (0, 1_000_000),
    "focuses_per_bucket": (1, 64),
    "evidence": (2, 64),
    "excerpt_chars": (80, 4_000),
    "strong_score": (-1e9, 1e9),
    "queue": (1, 256),
    "overdue_after": (1, 1_000_000),
    "attempts": (1, 100),
}
CHOICES = {"accept": ("cited", "all")}


def _check(name: str, value: Any, default: Any) -> None:
    if name in CHOICES:
        if value not in CHOICES[name]:
            _refuse(name, f"one of {', '.join(CHOICES[name])}")
        return
    low, high = BOUNDS[name]
    kinds = (int,) if type(default) is int else (int, float)
    if type(value) not in kinds or not low <= value <= high:
        _refuse(name, f"{low} to {high}")


def _refuse(name: str, allowed: str) -> None:
    raise InputError(f"parameter {name}: expected {allowed}", path=name)
