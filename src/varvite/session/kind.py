"""What a kind of session adds to the kernel."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Read = Callable[[str, str], bytes | None]
"""The index value of (table, key), this batch's earlier entries included."""

Entry = tuple[str, str, bytes]
"""Index table, key, value. Values are small and absolute."""

Fold = Callable[[dict[str, Any], Read], Iterable[Entry]]
"""The index entries of one record; called once a record, in the order of seq."""


@dataclass(frozen=True, slots=True)
class Kind:
    """streams: files made with the session. private: streams that live in the journal only.
    summary: what `state.json` says beyond cursor and counts, from the index alone.
    faces: further files by name, for people, from the index alone. They are written
    with `state.json`, and carry the cursor that they show.
    """

    name: str
    streams: tuple[str, ...]
    private: frozenset[str]
    fold: Fold
    summary: Callable[[Read], dict[str, Any]]
    faces: Callable[[Read], Mapping[str, dict[str, Any]]] = lambda _read: {}
