"""What a checkpoint is made of: parameters, stages that each leave tables, and proposals."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from varvite.checkpoints.run import Run
from varvite.checkpoints.tables import Answers
from varvite.disk.files import Folder
from varvite.graph.port import GaiaPort
from varvite.session.kind import Kind

Do = Callable[[Run], Mapping[str, Any] | None]
"""Returns results, in numbers and words, for the receipt."""


@dataclass(frozen=True, slots=True)
class Stage:
    """tables: those that it leaves, for later stages and for whoever reads the results.

    texts: files that it leaves for people, named with their endings.
    """

    name: str
    do: Do
    tables: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number, a truth or a word that a job is given; `default` says which.

    low, high: the bounds of a number, both allowed. choices: the words that there are.
    """

    default: Any
    about: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """An act for a session's inbox: what to do there, as `Kind.acts` has it by name."""

    session: str
    act: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Acting:
    """What a job is given that does itself what it proposes.

    kind_of: the kind of session of a name. report: as of `Run`.
    """

    store: Folder
    answers: Answers
    gaia: GaiaPort
    kind_of: Callable[[str], Kind]
    report: Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Job:
    """summary: what it answers, in a line. kind: of the sessions that it reads; None for all.

    wide: it reads all sessions of its kind in one run; otherwise one session a run.
    outside: what it reads can change though the cursor stays, so it is done each time.
    proposals: from what a finished run left to what it would have done, in order.
    act: does what the job proposes itself, in place of proposals; counts by outcome.
    """

    name: str
    summary: str
    stages: tuple[Stage, ...]
    kind: str | None = None
    wide: bool = False
    outside: bool = False
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    proposals: Callable[[Answers], Iterable[Proposal]] = lambda _answers: ()
    act: "Callable[[Acting], dict[str, int]] | None" = None
