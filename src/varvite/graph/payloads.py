"""Payloads as they lie in a file: found, cut out byte for byte, and read.

What `submit` takes: a file with one response or one object of normalised hits,
one such object a line, or lines that wrap each in an envelope:

    {"file": label, "payload": response, "query": text, "index": name, "retry_of": label or id,
     "answers": id of a leased call}

where only `payload` must be there.
"""

import re
from collections.abc import Iterator
from os import fspath, path
from typing import Any, NamedTuple, NoReturn

import orjson

from varvite import ids
from varvite.disk import strict_json
from varvite.errors import LimitError, MalformedInputError
from varvite.graph import hits, lkm
from varvite.graph.delta import DEFAULT_INDEX, Delta
from varvite.graph.shape import Object, lone_surrogate, refuse, text
from varvite.graph.shape import key as named
from varvite.records.limits import check

WHOLE_FILE_BYTES_MAX = 64 << 20
_ENVELOPE = ("file", "payload", "query", "index", "retry_of", "answers")
_WHOLE = frozenset({"$", "$.code", "$.data"})
_SHAPES = 'a response has `code` and `data`; hits of your own are {"query": text, "hits": [hit, …]}'
_FILE = "a file has one JSON object, or one a line, as plain UTF-8"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_INDEX = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_RETRY = re.compile(r"_retry\d*(?=(\.\w+)?$)")
_RETRY_NUMBER = re.compile(r"(?<=\d)r(?=_[^/]*$)")


class Payload(NamedTuple):
    """One response as text. offset: where `raw` starts in its file, in bytes.

    file: the label it is known by. source: the file that line and offset are of, where that
    is another one. call: what a call and its retries are known by.
    answers: the leased call that it ends; the only leased one that asks its query, unless given.
    """

    raw: str
    file: str = ""
    line: int | None = None
    offset: int = 0
    query: str | None = None
    index_id: str = DEFAULT_INDEX
    retry_of: str | None = None
    call: str = ""
    envelope: Object | None = None
    answers: str | None = None
    source: str = ""

    @property
    def lies_in(self) -> str:
        return self.source or self.file

    def place(self) -> str:
        return _place(self.lies_in, self.line, self.offset) if self.lies_in else "the payload"


def read(payload: Payload) -> Delta:
    """What the payload brings. Costs one decoding of its text.

    Raises:
        MalformedInputError: .file .line .offset, and .path where it is JSON.
    """
    try:
        return _delta(payload)
    except MalformedInputError as error:
        if error.data.get("file") is not None:
            raise
        _refuse(payload.lies_in, payload.line, payload.offset, error)


def response_id(payload: Payload) -> str:
    """A function of label and text, so that a response is known when it comes again.

    Raises:
        MalformedInputError: they have no UTF-8 form.
    """
    try:
        return ids.derived("response", payload.file, payload.raw)
    except UnicodeEncodeError:
        where = ascii(payload.file)
        raise MalformedInputError(
            f"{where}: expected text that has a UTF-8 form", file=where, path="$"
        ) from None


def from_hits(found: list[Object], *, query: str | None = None, file: str = "") -> Payload:
    """Normalised hits (see `hits`) as a payload; its raw text is their JSON.

    Raises:
        MalformedInputError: .path of what JSON has not, as NaN or a tuple.
    """
    try:
        check(found, "$.hits")
    except LimitError as error:
        raise MalformedInputError(error.message, hint=error.hint, **error.data) from None
    raw = orjson.dumps({"query": query, "hits": found}).decode()
    return Payload(raw, file, query=query)


def in_file(file: str) -> Iterator[Payload]:
    """The payloads of a file, in its order, each with a label, line and offset.

    Reads a line at a time; the whole file only where it holds one object over many lines.

    Raises:
        MalformedInputError: .file .line .offset of the first line that is none of the shapes.
    """
    file = fspath(file)
    label = path.basename(file)
    with open(file, "rb") as stream:
        first = stream.readline()
        while first and not first.strip():
            first = stream.readline()
        stream.seek(0)
        if _spreads_over_lines(first):
            data = stream.read(WHOLE_FILE_BYTES_MAX + 1)
            if len(data) > WHOLE_FILE_BYTES_MAX:
                _refuse(file, None, 0, f"one object of over {WHOLE_FILE_BYTES_MAX} bytes")
            yield _cut(data, file, label, None, 0)
            return
        offset = 0
        for line, data in enumerate(stream, 1):
            if data.strip():
                yield _cut(data, file, label, line, offset)
            offset += len(data)


def first_tries(label: str) -> tuple[str, ...]:
    """Labels of the call that a retry's label may speak of; none for a label of no retry.

    `round_0_003r_match_x_retry.json` retries `round_0_003_match_x.json`.
    """
    bare, found = _RETRY.subn("", label)
    return (bare, _RETRY_NUMBER.sub("", bare, count=1)) if found else ()


def _spreads_over_lines(first: bytes) -> bool:
    text = first.strip()
    return text.startswith((b"{", b"[")) and not text.endswith((b"}", b"]"))


def _cut(data: bytes, file: str, label: str, line: int | None, offset: int) -> Payload:
    body = data.strip(b" \t\r\n")
    offset += len(data) - len(data.lstrip(b" \t\r\n"))
    value = _decoded(body, file, line, offset)
    if type(value) is not dict:
        not_one = MalformedInputError("not an object", path="$")
        _refuse(file, line, offset, not_one)
    raw = body.decode()
    if "payload" in value:
        return _unwrap(raw, value, file, label, line, offset)
    call = label if line is None else f"{label}:{line}"
    index = _index(value, file, line, offset)
    return Payload(raw, label, line, offset, index_id=index, call=call, source=file)


def _decoded(body: bytes, file: str, line: int | None, offset: int) -> Any:
    try:
        return strict_json.loads(body, file=file, line=line, offset=offset)
    except MalformedInputError as error:
        error.hint = error.hint or _FILE
        raise


def _unwrap(
    raw: str, value: Object, file: str, label: str, line: int | None, offset: int
) -> Payload:
    begin, end = strict_json.spans(raw)["payload"]
    try:
        own = named(value, "file", "$") if value.get("file") is not None else None
        query, retry_of = text(value, "query", "$"), text(value, "retry_of", "$")
        answers = text(value, "answers", "$")
        surrogate = lone_surrogate({**value, "payload": None})
        if surrogate:
            refuse(surrogate, "text that has a UTF-8 form")
    except MalformedInputError as error:
        _refuse(file, line, offset, error)
    others = {name: item for name, item in value.items() if name not in _ENVELOPE}
    return Payload(
        raw[begin:end],
        own or label,
        line,
        offset + len(raw[:begin].encode()),
        query,
        _index(value, file, line, offset),
        retry_of,
        own or (label if line is None else f"{label}:{line}"),
        others or None,
        answers,
        file,
    )


def _index(value: Object, file: str, line: int | None, offset: int) -> str:
    index = value.get("index")
    if index is None:
        return DEFAULT_INDEX
    if type(index) is not str or not _INDEX.fullmatch(index):
        _refuse(file, line, offset, "$.index: expected 1 to 64 of A-Z, a-z, 0-9, _, . and -")
    return index


def _delta(payload: Payload) -> Delta:
    data = payload.raw.encode()
    value: Any = strict_json.loads(
        data, file=payload.lies_in, line=payload.line, offset=payload.offset
    )
    if _SURROGATE_ESCAPE.search(payload.raw):
        surrogate = lone_surrogate(value)
        if surrogate:
            refuse(surrogate, "text that has a UTF-8 form")
    if type(value) is dict and "hits" in value and "code" not in value:
        return hits.read(value, payload.index_id)
    return lkm.read(value, payload.index_id)


def _place(file: str, line: int | None, offset: int) -> str:
    return f"{file}, byte {offset}" if line is None else f"{file}:{line}"


def _refuse(file: str, line: int | None, offset: int, why: str | MalformedInputError) -> NoReturn:
    place = _place(file, line, offset)
    found = why.data | {"why": why.message} if isinstance(why, MalformedInputError) else {}
    found = {"path": None} | found | {"file": file, "line": line, "offset": offset}
    hint = _SHAPES if found["path"] in _WHOLE else ""
    raise MalformedInputError(f"{place}: {found.pop('why', why)}", hint=hint, **found) from None
