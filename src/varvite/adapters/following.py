"""A foreign file of lines, and what becomes of each line of it."""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from varvite.adapters import quarantine
from varvite.adapters.lines import Line, LineSplitter
from varvite.disk.files import Files
from varvite.records.foreign import LogBatch

Place = dict[str, Any]
"""source, source_line and generation: where a record comes from."""


class FollowedFile:
    """A file as a session can follow it; see `ForeignLog`.

    source: its name in the session; the file's name unless given.
    closed: nobody writes to it any more, so a last line without newline is a line.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        source: str | None = None,
        closed: bool = False,
        files: Files | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.source = source or os.path.basename(self.path)
        self._closed = closed
        self._files = files or Files()


def lines(chunks: Iterable[bytes], splitter: LineSplitter, *, closed: bool) -> Iterator[Line]:
    """The finished lines in `chunks`, and of a closed file the last."""
    yield from splitter.lines(chunks)
    if closed:
        yield from splitter.last()


def take(
    line: Line, splitter: LineSplitter, batch: LogBatch, record: Callable[[Place], dict[str, Any]]
) -> bool:
    """Add what a line holds: nothing if it is blank, else its record, or the line itself.

    Whether it was the record.
    """
    if not line.data.strip():
        return False
    place = {
        "source": splitter.source,
        "source_line": line.number,
        "generation": splitter.generation,
    }
    try:
        batch.records.append(record(place))
    except quarantine.UnreadableError as fault:
        records, entry = quarantine.kept(line, fault, place)
        batch.records += records
        batch.quarantined.append(entry)
        return False
    return True
