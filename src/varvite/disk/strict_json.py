"""JSON from outside, read strictly: one meaning, or a refusal that says where.

Our own files need none of this: they are written by one encoder and proved by CRC.
"""

import json
from typing import Any, NoReturn

from varvite.errors import MalformedInputError

BOM = b"\xef\xbb\xbf"


def loads(data: bytes, *, file: str, line: int | None = None, offset: int = 0) -> Any:
    """Decode one JSON value that fills `data`.

    `offset` is where `data` starts in `file`, `line` on which line; errors count from the
    file's start, and have a line where they have a place and `data`'s own line is known.
    Refused: bytes that are not UTF-8, a byte order mark, NaN and Infinity,
    duplicate keys, nesting past the interpreter's depth, trailing bytes.

    Raises:
        MalformedInputError: .file .line .offset
    """
    where = _Where(data, file, line, offset)
    if data.startswith(BOM):
        where.refuse("a byte order mark", 0, "save the file as plain UTF-8")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        where.refuse("not UTF-8", error.start)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        where.refuse(error.msg, len(text[: error.pos].encode(errors="surrogatepass")))
    except RecursionError:
        where.refuse("nested too deeply")
    except ValueError as error:
        where.refuse(str(error))


def spans(text: str, start: int = 0) -> dict[str, tuple[int, int]]:
    """Where each value of the JSON object at `text[start]` begins and ends, by key.

    For a well-formed object only: check it with `loads` first.
    """
    found: dict[str, tuple[int, int]] = {}
    at = _skip(text, text.index("{", start) + 1)
    while text[at] != "}":
        key, at = json.decoder.scanstring(text, at + 1)  # type: ignore[attr-defined]
        begin = _skip(text, text.index(":", at) + 1)
        _, at = _DECODER.raw_decode(text, begin)
        found[key] = (begin, at)
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


class _Where:
    def __init__(self, data: bytes, file: str, line: int | None, offset: int) -> None:
        self.data, self.file, self.line, self.offset = data, file, line, offset

    def refuse(self, what: str, position: int | None = None, hint: str = "") -> NoReturn:
        offset, line = self.offset + (position or 0), self._line(position)
        place = self.file if line is None else f"{self.file}:{line}"
        if self.line is None:
            place += f", byte {offset}"
        raise MalformedInputError(
            f"{place}: {what}", hint=hint, file=self.file, line=line, offset=offset
        ) from None

    def _line(self, position: int | None) -> int | None:
        first = 1 if self.line is None and self.offset == 0 else self.line
        if first is None or position is None:
            return self.line
        return first + self.data.count(b"\n", 0, position)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} twice in one object")
    return made


def _no_constant(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
