"""What a reader of a foreign log hands over, and how far it has read."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

_EMPTY = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class LogCursor:
    """A place between two lines: `lines` lines in `offset` bytes, whose SHA-256 is `sha256`.

    generation: 1, and one more each time the bytes before a cursor had changed.
    """

    offset: int = 0
    sha256: str = _EMPTY
    lines: int = 0
    generation: int = 1


class Quarantined(NamedTuple):
    """A line that was kept unread."""

    line: int
    kind: str
    action: str


class Defaulted(NamedTuple):
    """A value that the line had not, or had in no usable form, and what stands for it."""

    line: int
    name: str
    used: str


@dataclass(slots=True)
class LogBatch:
    """Some lines of a foreign log as records, and the cursor after them.

    `unfinished` is the size in bytes of a last line that has no newline yet.
    """

    cursor: LogCursor
    records: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[Quarantined] = field(default_factory=list)
    defaulted: list[Defaulted] = field(default_factory=list)
    unfinished: int = 0


class ForeignLog(Protocol):
    """A log that somebody else writes, and that a session follows."""

    @property
    def source(self) -> str:
        """The name under which its cursor is kept."""

    def read(self, after: LogCursor | None) -> Iterator[LogBatch]:
        """The lines after a cursor, in batches that can each be committed; at least one.

        Where the bytes before the cursor are no longer those that were read, all
        lines come, under the next generation.
        """
