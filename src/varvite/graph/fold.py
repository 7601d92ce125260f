"""The indexes of a graph session: one list of tables, from which the fold follows.

Each part declares its own in its module.
"""

from collections.abc import Iterable, Sequence

from varvite.graph import (
    answering,
    bucket,
    candidates,
    due,
    focus,
    frontier,
    importing,
    landscape_index,
    membership,
    outbox,
    packets,
    promotion,
    queue,
    repair,
    routes,
    status,
    steps,
    vocabulary,
)
from varvite.graph.table import Record, Several, Spread, Table
from varvite.session.kind import Entry, Read

TABLES: tuple[Table | Spread | Several, ...] = (
    *landscape_index.TABLES,
    *steps.TABLES,
    *vocabulary.TABLES,
    *routes.TABLES,
    *bucket.TABLES,
    *membership.TABLES,
    *queue.TABLES,
    *focus.TABLES,
    *packets.TABLES,
    *due.TABLES,
    *frontier.TABLES,
    *outbox.TABLES,
    *candidates.TABLES,
    *repair.TABLES,
    *answering.TABLES,
    *promotion.TABLES,
    *status.TABLES,
    *importing.TABLES,
)

_BY_STREAM: dict[str, list[Table | Spread | Several]] = {}
for _table in TABLES:
    _BY_STREAM.setdefault(_table.stream, []).append(_table)


def fold(records: Sequence[Record], read: Read) -> Iterable[Entry]:
    for record in records:
        for table in _BY_STREAM.get(record["stream"], ()):
            yield from table.made(record, read)
