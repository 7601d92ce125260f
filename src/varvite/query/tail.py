"""The committed bytes beyond the segments, one anonymous file a stream, for DuckDB to read.

Only whole batches get in, so a line that is being written is never seen.
"""

import os
import tempfile
from collections.abc import Iterable
from typing import BinaryIO, Self

from varvite.segments.scan import Owner, prefixed
from varvite.session.parts import Batch
from varvite.session.streams import by_stream


class Tail:
    """Record lines by stream. `paths` name the files as long as the tail is open."""

    def __init__(self) -> None:
        self._files: dict[str, BinaryIO] = {}
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, owner: Owner, batches: Iterable[Batch]) -> None:
        """Add a session's batches, in the order of seq."""
        for batch in batches:
            for stream, lines in by_stream(batch.lines()).items():
                self.rows += len(lines)
                self._file(stream).writelines(prefixed(owner, line) for line in lines)

    def paths(self) -> dict[str, str]:
        for file in self._files.values():
            file.flush()
        return {stream: f"/proc/self/fd/{file.fileno()}" for stream, file in self._files.items()}

    def _file(self, stream: str) -> BinaryIO:
        if stream not in self._files:
            self._files[stream] = _anonymous(stream)
        return self._files[stream]

    def close(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


def _anonymous(stream: str) -> BinaryIO:
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create(f"tail-{stream}"), "wb")
    return tempfile.TemporaryFile()  # type: ignore[return-value]
