"""What a kind of session adds to the kernel."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Read = Callable[[str, str], bytes | None]
"""The index value of (table, key), this batch's earlier entries included."""

Entry = tuple[str, str, bytes]
"""Index table, key, value. Values are small and absolute."""

Fold = Callable[[Sequence[dict[str, Any]], Read], Iterable[Entry]]
"""The index entries of the records of one batch; called once a batch, in the order of seq.

Of entries with one key the last stands. What was yielded is read back from then on.
"""


Plan = Callable[[dict[str, Any], "Now"], list[dict[str, Any]]]
"""The records that an act's payload comes to, as the session stands."""


@dataclass(frozen=True, slots=True)
class Now:
    """A session as it stands: its id, its parameters, its cursor, and its index as of that."""

    session_id: str
    parameters: dict[str, Any]
    cursor: int
    read: Read


@dataclass(frozen=True, slots=True)
class Kind:
    """streams: files made with the session. private: streams that live in the journal only.
    summary: what `state.json` says beyond cursor and counts, from the index alone.
    faces: further files by name, for people, from the index alone. They are written
    with `state.json`, and carry the cursor that they show.
    acts: what jobs may leave in the inbox, by name.
    """

    name: str
    streams: tuple[str, ...]
    private: frozenset[str]
    fold: Fold
    summary: Callable[[Read], dict[str, Any]]
    faces: Mapping[str, Callable[[Read], dict[str, Any]]] = field(default_factory=dict)
    acts: Mapping[str, Plan] = field(default_factory=dict)
