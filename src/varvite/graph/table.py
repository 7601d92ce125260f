"""How a part of the session says what it keeps in the index."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from varvite.session.kind import Read

Record = dict[str, Any]


class Table(NamedTuple):
    """Which records of `stream` enter index `name`, under which keys, with which value.

    A value is absolute: it says all there is to say about its key at the record's seq.
    """

    name: str
    stream: str
    keys: Callable[[Record], Iterable[str]]
    value: Callable[[Record, Read], bytes]
