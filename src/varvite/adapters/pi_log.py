"""pi-autoresearch's log, `.auto/log.jsonl` or the older `autoresearch.jsonl`, read in batches."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from varvite.adapters import event_line, pi_line, quarantine
from varvite.adapters.event_line import Tried
from varvite.adapters.following import FollowedFile, lines, take
from varvite.adapters.lines import Line, LineSplitter, opened, resumed
from varvite.errors import LimitError
from varvite.records.foreign import Defaulted, LogBatch, LogCursor

BATCH_RECORDS = 1000
BATCH_BYTES = 2 << 20


class PiLog(FollowedFile):
    """A log, in batches of many lines."""

    def read(self, after: LogCursor | None) -> Iterator[LogBatch]:
        """The lines after a cursor. Reads the bytes before it too, to compare their hash.

        Raises:
            NotFoundError, InputError, LimitError: .file
        """
        with opened(self.path, self._files) as log:
            splitter = resumed(log, self.source, after)
            begin = splitter.cursor.offset
            tried = Tried(partial(log.chunks, 0, begin))
            yield from read(log.chunks(begin), splitter, closed=self._closed, tried=tried)


def read(
    chunks: Iterable[bytes],
    splitter: LineSplitter,
    *,
    closed: bool = False,
    tried: Tried | None = None,
) -> Iterator[LogBatch]:
    """The lines in `chunks` as batches of records; the last batch may be empty.

    tried: what the lines before them said of runs to come, where the log tells these apart.

    Raises:
        LimitError: .file .line .offset of a line beyond all limits, after a batch of those before.
    """
    batch, size, tried = LogBatch(splitter.cursor), 0, tried or Tried()
    try:
        for line in lines(chunks, splitter, closed=closed):
            _add(line, splitter, batch, tried)
            batch.cursor, size = splitter.cursor, size + len(line.data)
            if len(batch.records) >= BATCH_RECORDS or size >= BATCH_BYTES:
                yield batch
                batch, size = LogBatch(splitter.cursor), 0
    except LimitError:
        yield batch
        raise
    batch.unfinished = splitter.unfinished
    yield batch


def _add(line: Line, splitter: LineSplitter, batch: LogBatch, tried: Tried) -> None:
    defaults: dict[str, str] = {}
    if take(line, splitter, batch, lambda place: _record(line, place, tried, defaults)):
        batch.defaulted += [Defaulted(line.number, name, used) for name, used in defaults.items()]


def _record(
    line: Line, place: dict[str, Any], tried: Tried, defaults: dict[str, str]
) -> dict[str, Any]:
    entry, raw = pi_line.decoded(line, place["source"], defaults), line.data.decode()
    if event_line.is_one(entry):
        record = event_line.record_of(entry, raw, tried, defaults) | place
    else:
        record = pi_line.record_of(entry, raw, defaults) | place
    if quarantine.too_long(record, line.data):
        record["payload"] = None
        defaults["payload"] = "null, as the record would be too long; raw has it"
    if quarantine.too_long(record, line.data):
        raise quarantine.UnreadableError("too_long", "the line makes a record over the limit")
    return record
