"""How a part of the session says what it keeps in the index."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import orjson

from varvite.session.kind import Entry, Read

Record = dict[str, Any]
_ENVELOPE = ("seq", "stream", "id", "rev", "prev_seq", "at", "actor")


class Table(NamedTuple):
    """Which records of `stream` enter index `name`, under which keys, with which value.

    A value is absolute: it says all there is to say about its key at the record's seq.
    """

    name: str
    stream: str
    keys: Callable[[Record], Iterable[str]]
    value: Callable[[Record, Read], bytes]

    def made(self, record: Record, read: Read) -> Iterable[Entry]:
        return ((self.name, key, self.value(record, read)) for key in self.keys(record))


class Spread(NamedTuple):
    """The same, where each key has a value of its own. read: sees the entries made before."""

    name: str
    stream: str
    entries: Callable[[Record, Read], Iterable[tuple[str, bytes]]]

    def made(self, record: Record, read: Read) -> Iterable[Entry]:
        return ((self.name, key, value) for key, value in self.entries(record, read))


class Several(NamedTuple):
    """Indexes whose entries are worked out together. name: of the first of them."""

    name: str
    stream: str
    made: Callable[[Record, Read], Iterable[Entry]]


def kept(name: str, stream: str) -> Table:
    """A table that has each record of the stream as it stands, by id."""
    return Table(name, stream, lambda record: (record["id"],), _own)


def own(record: Record) -> Record:
    """The record's own fields."""
    return {name: record[name] for name in record if name not in _ENVELOPE}


def _own(record: Record, _read: Read) -> bytes:
    return orjson.dumps(own(record))


def state(read: Read, name: str, key: str) -> Record | None:
    """What a kept table, or another with JSON values, has under a key."""
    stored = read(name, key)
    return None if stored is None else orjson.loads(stored)


def listed(read: Read, name: str, key: str) -> list[Any]:
    """The list under a key; empty where there is none."""
    stored = read(name, key)
    return [] if stored is None else orjson.loads(stored)
