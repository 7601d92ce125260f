"""Several segments of a stream become one, row by row in order, without a sort.

Each segment is sorted by session and seq, and a session's seqs in two segments never
overlap, so the merged order is known from the manifest's spans: the segments are
read side by side, each once from its beginning to its end.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa

from varvite.disk.files import Folder, storing
from varvite.segments import check
from varvite.segments.manifest import Segment, Span
from varvite.segments.plan import Merge
from varvite.segments.writing import Draft, opened, row_groups, schema

READ_ROWS = 4 << 10


def merge(
    store: Folder,
    lake: Folder,
    step: Merge,
    ids: Mapping[str, str],
    generation: int,
    *,
    without: Collection[str],
) -> Segment | None:
    """Write the rows of the step's segments as one, those of the uids `without` left out.

    `ids` gives each uid's session id. Memory: a few thousand rows a segment and one
    row group. None where no row is left. Nothing is published yet.

    Raises:
        CorruptError: a segment is not what the manifest says.
    """
    for segment in step.segments:
        check.verify(store, segment)
    spans = _spans(step.segments, without)
    if not spans:
        return None
    with storing(f"merging segments below {lake.path}"):
        draft = Draft(lake, step.stream)
        try:
            draft.write(row_groups(_rows(lake, step.segments, ids, without)))
            draft.finish(row_groups(_rows(lake, step.segments, ids, without)))
            return draft.publish(generation, 0, step.tier, spans)
        finally:
            draft.close()


def _spans(segments: Sequence[Segment], without: Collection[str]) -> dict[str, Span]:
    merged: dict[str, Span] = {}
    for segment in segments:
        for uid, span in segment.sessions.items():
            if uid not in without:
                known = merged.get(uid, Span(span.first, span.last, 0))
                merged[uid] = Span(
                    min(known.first, span.first),
                    max(known.last, span.last),
                    known.rows + span.rows,
                )
    return merged


def _rows(
    lake: Folder, segments: Sequence[Segment], ids: Mapping[str, str], without: Collection[str]
) -> Iterator[pa.Table]:
    with ExitStack() as stack:
        sources = [_Source(stack, lake, segment) for segment in segments]
        present = {uid for one in segments for uid in one.sessions}
        for uid in sorted(present, key=lambda uid: (ids[uid], uid)):
            holding = [one for one in sources if uid in one.spans]
            for source in sorted(holding, key=lambda one: one.spans[uid].first):
                for table in source.take(source.spans[uid].rows):
                    if uid not in without:
                        yield table


class _Source:
    """One segment, read forward."""

    def __init__(self, stack: ExitStack, lake: Folder, segment: Segment) -> None:
        folder_name, name = segment.path.split("/")
        folder = stack.enter_context(lake.folder(folder_name))
        file = stack.enter_context(opened(folder, name))
        self.spans = segment.sessions
        self._batches = file.iter_batches(batch_size=READ_ROWS)
        self._rest = schema(segment.stream).empty_table()
        self._schema = schema(segment.stream)

    def take(self, rows: int) -> Iterator[pa.Table]:
        """The next `rows` rows."""
        while rows:
            if not self._rest.num_rows:
                self._rest = self._table(next(self._batches))
            taken = self._rest.slice(0, rows)
            self._rest = self._rest.slice(taken.num_rows)
            rows -= taken.num_rows
            yield taken

    def _table(self, batch: pa.RecordBatch) -> pa.Table:
        """An older version's columns, with NULL for those that came since."""
        table = pa.Table.from_batches([batch])
        if table.schema.equals(self._schema):
            return table
        columns = [
            table[field.name].cast(field.type)
            if field.name in table.column_names
            else pa.nulls(table.num_rows, field.type)
            for field in self._schema
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)
