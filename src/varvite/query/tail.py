"""The committed bytes beyond the segments, one anonymous file a stream, for DuckDB to read.

Only whole batches get in, so a line that is being written is never seen.
"""

from collections import Counter
from collections.abc import Iterable

from varvite.segments.scan import Owner, Spool, prefixed
from varvite.session.parts import Batch
from varvite.session.streams import by_stream


class Tail:
    """Record lines by stream. `paths` name the files as long as the tail is open."""

    def __init__(self) -> None:
        self._spools: dict[str, Spool] = {}
        self._rows: Counter[str] = Counter()

    def add(self, owner: Owner, batches: Iterable[Batch]) -> None:
        """Add a session's batches, in the order of seq."""
        for batch in batches:
            for stream, lines in by_stream(batch.lines()).items():
                spool = self._spool(stream)
                self._rows[stream] += len(lines)
                spool.write(b"".join(prefixed(owner, line) for line in lines))

    def _spool(self, stream: str) -> Spool:
        if stream not in self._spools:
            self._spools[stream] = Spool()
        return self._spools[stream]

    def paths(self) -> dict[str, str]:
        return {stream: spool.path for stream, spool in self._spools.items()}

    def rows(self, stream: str) -> int:
        return self._rows[stream]

    def bytes(self, stream: str) -> int:
        return self._spools[stream].bytes if stream in self._spools else 0

    def close(self) -> None:
        while self._spools:
            self._spools.popitem()[1].close()
