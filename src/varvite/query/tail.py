"""The committed bytes beyond the segments, one anonymous file a stream, for DuckDB to read.

Only whole batches get in, so a line that is being written is never seen.
"""

from collections import Counter
from collections.abc import Iterable

import orjson

from varvite.records.contracts import stream_columns
from varvite.segments.scan import Owner, Spool, lines
from varvite.session.parts import Batch
from varvite.session.streams import by_stream


class Tail:
    """Record lines by stream."""

    def __init__(self) -> None:
        self._spools: dict[str, Spool] = {}
        self._rows: Counter[str] = Counter()

    def add(self, owner: Owner, batches: Iterable[Batch]) -> None:
        """Add a session's batches, in the order of seq."""
        for batch in batches:
            for stream, found in by_stream(batch.lines()).items():
                self._rows[stream] += len(found)
                self._spool(stream).write(lines(owner, found))

    def _spool(self, stream: str) -> Spool:
        if stream not in self._spools:
            self._spools[stream] = Spool()
        return self._spools[stream]

    def streams(self) -> set[str]:
        return set(self._spools)

    def path(self, stream: str) -> str | None:
        """The file of the stream's lines, which is there until it is let go."""
        return self._spools[stream].path if stream in self._spools else None

    def has_extra(self, stream: str) -> bool:
        """Whether some record has a field beyond the contract.

        Cheaper here than in DuckDB, whose first look at JSON costs some milliseconds.
        """
        known = stream_columns(stream).keys()
        with open(self._spools[stream].path, "rb") as found:
            return not all(known >= orjson.loads(line)["record"].keys() for line in found)

    def let_go(self, stream: str) -> None:
        """Drop the stream's lines, which were taken over; rows and bytes are still known."""
        self._spools[stream].close()

    def rows(self, stream: str) -> int:
        return self._rows[stream]

    def bytes(self, stream: str) -> int:
        return self._spools[stream].bytes if stream in self._spools else 0

    def close(self) -> None:
        for spool in self._spools.values():
            spool.close()
