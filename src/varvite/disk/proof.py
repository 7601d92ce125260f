"""Bytes that prove themselves: CRC32 inside one JSON line, chained over what came before.

A line is `{"<kind>":{…,"crc":<n>}}` and its crc covers the chain's seed, the
body before the line, and the line itself up to the digits.
"""

import re
import zlib
from typing import Any

import orjson

from varvite.errors import CorruptError

_LINE = re.compile(rb'(\{"([a-z]+)":\{.*"crc":)(0|[1-9]\d{0,9})\}\}\n?', re.DOTALL)


def line(kind: str, values: dict[str, Any], *, body: bytes = b"", seed: int = 0) -> bytes:
    """The closing line for `body`, with its newline."""
    head = orjson.dumps({kind: values | {"crc": 0}})[:-3]
    return head + b"%d}}\n" % zlib.crc32(head, zlib.crc32(body, seed))


def read_line(text: bytes | memoryview) -> tuple[str, dict[str, Any], int, int] | None:
    """Kind, values, crc and the length of the line that the crc covers; None for another line."""
    match = _LINE.fullmatch(text)
    if not match:
        return None
    try:
        values = orjson.loads(match[0])
    except orjson.JSONDecodeError:
        return None
    kind = match[2].decode()
    if not isinstance(values[kind], dict):
        return None
    return kind, values[kind], int(match[3]), len(match[1])


def document(values: dict[str, Any]) -> bytes:
    """A small JSON file, readable by people, with its crc as the last key."""
    plain = orjson.loads(orjson.dumps(values))  # what is read again: a dataclass is not sorted
    crc = zlib.crc32(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS))
    return orjson.dumps(plain | {"crc": crc}, option=orjson.OPT_INDENT_2) + b"\n"


def read_document(data: bytes, file: str) -> dict[str, Any]:
    """The values of a `document`.

    Raises:
        CorruptError: not JSON, not an object, or not what its crc says.
    """
    try:
        values = orjson.loads(data)
        crc = values.pop("crc")
        proved = zlib.crc32(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)) == crc
    except (
        orjson.JSONDecodeError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        RecursionError,
    ):
        proved = False
    if not proved:
        raise CorruptError(f"{file} is damaged", file=file, offset=0) from None
    return dict(values)
