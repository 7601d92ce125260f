"""A table of results, such as karpathy's results.tsv or a hand-made log, read in batches.

Its lines are tab separated cells or JSON objects. Which column says what is told by name,
or by number where there is no header.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from varvite.adapters import quarantine
from varvite.adapters.following import FollowedFile, Place, lines, take
from varvite.adapters.lines import Line, LineSplitter, OpenLog, opened, resumed
from varvite.adapters.table_line import JsonTable, Table, table
from varvite.disk.files import Files
from varvite.records.foreign import Defaulted, LogBatch, LogCursor

BATCH_RECORDS = 1000
WRITER = "table"


class TableLog(FollowedFile):
    """A table as a session can follow it.

    columns: what is said to the column that says it, a name or a number from 1: `metric`,
    `status`, `commit`, `description`, `run`, `timestamp`, and `metrics.NAME`; of objects a
    key, or several as `a|b`. Without any, those of karpathy's results.tsv. statuses: words
    of the table to words of ours.
    metric_name: that of the metric's column unless given.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        columns: Mapping[str, str | int] | None = None,
        *,
        metric_name: str | None = None,
        metric_unit: str = "",
        direction: str = "minimize",
        statuses: Mapping[str, str] | None = None,
        source: str | None = None,
        closed: bool = False,
        files: Files | None = None,
    ) -> None:
        super().__init__(path, source=source, closed=closed, files=files)
        self._columns = dict(columns or {})
        self._statuses = dict(statuses or {})
        self._measures = {"metric_unit": metric_unit, "direction": direction}
        self._metric_name = metric_name

    def read(self, after: LogCursor | None) -> Iterator[LogBatch]:
        """The lines after a cursor. Reads the first one and the bytes before it too.

        Raises:
            NotFoundError, InputError, LimitError: .file
            MalformedInputError: .file .line, of a table that has not the columns.
        """
        with opened(self.path, self._files) as log:
            first = self._first(log)
            splitter = resumed(log, self.source, after)
            if first is None:
                yield LogBatch(splitter.cursor, unfinished=splitter.unfinished)
                return
            found = table(first, self.source, self._columns, self._statuses)
            chunks = log.chunks(splitter.cursor.offset)
            given = lines(chunks, splitter, closed=self._closed)
            yield from self._batches(given, splitter, found, first.number)

    def _first(self, log: OpenLog) -> Line | None:
        """The first line that is not blank."""
        given = lines(log.chunks(0), LineSplitter(self.source), closed=self._closed)
        return next((line for line in given if line.data.strip()), None)

    def _batches(
        self, given: Iterable[Line], splitter: LineSplitter, found: Table | JsonTable, first: int
    ) -> Iterator[LogBatch]:
        batch = LogBatch(splitter.cursor)
        for line in given:
            if line.number == first:
                batch.records.append(self._config(line, splitter, found))
            if line.data.strip() and not (found.header and line.number == first):
                _add(line, splitter, found, batch)
            if len(batch.records) >= BATCH_RECORDS:
                batch.cursor = splitter.cursor
                yield batch
                batch = LogBatch(splitter.cursor)
        batch.cursor, batch.unfinished = splitter.cursor, splitter.unfinished
        yield batch

    def _config(
        self, line: Line, splitter: LineSplitter, found: Table | JsonTable
    ) -> dict[str, Any]:
        """What the table measures; its header, where it has one, is the record's line."""
        header = {"payload": {"columns": found.names}, "raw": line.data.decode()}
        return {
            "stream": "records",
            "type": "config",
            "metric_name": self._metric_name or found.metric_name,
            **self._measures,
            "writer": WRITER,
            "source": splitter.source,
            "source_line": line.number if found.header else None,
            "generation": splitter.generation,
            **(header if found.header else {}),
        }


def _add(line: Line, splitter: LineSplitter, found: Table | JsonTable, batch: LogBatch) -> None:
    defaults: dict[str, str] = {}

    def record(place: Place) -> dict[str, Any]:
        made = found.run(line, f"{splitter.source}:{line.number}", defaults)
        made |= {"raw": line.data.decode(), "writer": WRITER} | place
        if quarantine.too_long(made, line.data):
            raise quarantine.UnreadableError("too_long", "a record over the limit")
        return made

    if take(line, splitter, batch, record):
        batch.defaulted += [Defaulted(line.number, *one) for one in defaults.items()]
