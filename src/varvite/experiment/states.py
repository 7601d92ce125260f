"""The entries of a session's index while a batch is folded into them.

An entry is decoded where it is first asked for, and encoded once, at the end, however
many records of the batch change it.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import orjson

from varvite.session.kind import Entry, Read

_Value = TypeVar("_Value")
_Encode = Callable[[Any], bytes]


class States:
    """read: the index as it was before the batch."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._held: dict[tuple[str, str], Any] = {}
        self._changed: dict[tuple[str, str], _Encode] = {}

    def get(self, table: str, key: str, decode: Callable[[bytes], _Value]) -> _Value | None:
        """The value as it stands; whoever changes it puts it back."""
        place = table, key
        if place not in self._held:
            value = self._read(table, key)
            self._held[place] = None if value is None else decode(value)
        found: _Value | None = self._held[place]
        return found

    def put(self, table: str, key: str, value: Any, encode: _Encode = orjson.dumps) -> None:
        place = table, key
        self._held[place], self._changed[place] = value, encode

    def entries(self) -> Iterator[Entry]:
        for place, encode in self._changed.items():
            yield *place, encode(self._held[place])
