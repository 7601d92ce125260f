"""The bytes of a journal part: how a batch becomes a block, and how blocks are read back.

Pure: bytes in, values out. A part is a header line, then blocks; a block is
record lines and one commit line. The CRC chain runs through headers and commits,
so a part proves itself from its header, and its header from the part before.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Any, Literal, NamedTuple

from varvite.disk import proof
from varvite.errors import CorruptError, NewerFormatError
from varvite.records.limits import INT64_MAX

FORMAT = 1
COMMIT_PREFIX = b'{"commit":{'
LINE_BYTES_MAX = 64 << 10
STREAMS_MAX = 256
_COMMIT_LINE = re.compile(rb'\n(\{"commit":\{[^\n]*\}\})(?=\n)')

Level = Literal["durable", "group", "fast"]
LEVELS: tuple[Level, ...] = ("durable", "group", "fast")


class Position(NamedTuple):
    """A place between two blocks, and the chain so far."""

    seq: int
    batch: int
    crc: int
    epoch: int
    offset: int


@dataclass(frozen=True, slots=True)
class Header:
    """First line of a part.

    chain: the crc it goes on from. streams: records and bytes of each before the part.
    format: the version that wrote it.
    """

    uid: str
    position: Position
    chain: int
    streams: dict[str, tuple[int, int]]
    format: int = FORMAT

    @property
    def first(self) -> int:
        return self.position.seq + 1


@dataclass(frozen=True, slots=True)
class Commit:
    """The line that makes a block a batch.

    synced: the last batch that was known to be on disk when this one was written.
    """

    batch: int
    first: int
    last: int
    size: int
    key: str | None
    epoch: int
    level: Level
    synced: int
    at: str
    crc: int = field(default=0)


_WRITTEN = [each.name for each in fields(Commit) if each.name != "crc"]


class Block(NamedTuple):
    """A committed batch where it lies: records from `begin` to `middle`, commit line to `end`."""

    commit: Commit
    begin: int
    middle: int
    end: int


def header_line(uid: str, at: Position, streams: dict[str, tuple[int, int]]) -> bytes:
    """The header of a part that goes on from `at`; STREAMS_MAX keeps it within LINE_BYTES_MAX."""
    values = {
        "format": FORMAT,
        "uid": uid,
        "seq": at.seq,
        "batch": at.batch,
        "epoch": at.epoch,
        "chain": at.crc,
        "streams": {name: list(pair) for name, pair in sorted(streams.items())},
    }
    return proof.line("journal", values, seed=at.crc)


def read_header(data: bytes, file: str) -> Header:
    """The header of the part that `data` begins, of a newer format too if it can be read.

    Raises:
        CorruptError: no header, or a damaged one.
        NewerFormatError: a newer format's header, of another shape.
    """
    end = data.find(b"\n", 0, LINE_BYTES_MAX) + 1
    parsed = proof.read_line(data[:end]) if end else None
    if parsed is None or parsed[0] != "journal":
        raise CorruptError(f"{file}, byte 0: no journal header", file=file, offset=0, batch=0)
    _, values, crc, covered = parsed
    header = _header(values, crc, end)
    if header is None:
        refuse_newer(values.get("format"), file)
    if header is None or zlib.crc32(memoryview(data)[:covered], header.chain) != crc:
        raise CorruptError(f"{file}, byte 0: damaged header", file=file, offset=0, batch=0)
    return header


def _header(values: dict[str, Any], crc: int, end: int) -> Header | None:
    try:
        at = Position(values["seq"], values["batch"], crc, values["epoch"], end)
        streams = {name: (pair[0], pair[1]) for name, pair in values["streams"].items()}
        numbers = [*at, values["chain"], values["format"], *chain.from_iterable(streams.values())]
        header = Header(values["uid"], at, values["chain"], streams, values["format"])
    except (KeyError, TypeError, AttributeError, IndexError):
        return None
    return header if all(map(is_count, numbers)) and isinstance(header.uid, str) else None


def is_count(value: Any) -> bool:
    """Whether a value of a file is a whole number that no counter of ours exceeds."""
    return type(value) is int and 0 <= value <= INT64_MAX


def refuse_newer(found: Any, file: str) -> None:
    """Refuse what a newer version wrote, where it is to be written or cannot be read."""
    if isinstance(found, int) and found > FORMAT:
        raise NewerFormatError(
            f"{file} has format {found}; this version writes format {FORMAT}",
            hint="upgrade varvite to write here; reading works as far as the bytes are known",
            found=found,
            known=FORMAT,
        )


def build(
    lines: Sequence[bytes],
    after: Position,
    *,
    key: str | None,
    level: Level,
    at: str,
    synced: int | None = None,
) -> tuple[bytes, Commit]:
    """One block for `lines` (each with its newline), and its commit with the crc.

    `synced` is the last batch known to be on disk, the one before by default.
    """
    body = b"".join(lines)
    values: dict[str, Any] = {
        "batch": after.batch + 1,
        "first": after.seq + 1,
        "last": after.seq + len(lines),
        "size": len(body),
        "key": key,
        "epoch": after.epoch,
        "level": level,
        "synced": after.batch if synced is None else synced,
        "at": at,
    }
    closing = proof.line("commit", values, body=body, seed=after.crc)
    crc = int(closing[closing.rindex(b":") + 1 : -3])
    return body + closing, Commit(**values, crc=crc)


def blocks(data: bytes, after: Position) -> Iterator[Block]:
    """The committed batches in `data` from `after.offset` on, up to the first that is not whole."""
    while True:
        block = _block(data, after)
        if block is None:
            return
        yield block
        after = position(block)


def position(block: Block) -> Position:
    commit = block.commit
    return Position(commit.last, commit.batch, commit.crc, commit.epoch, block.end)


def record_lines(data: bytes, block: Block) -> list[bytes]:
    """The record lines of a block, each with its newline; LF alone ends a line."""
    return [line + b"\n" for line in data[block.begin : block.middle - 1].split(b"\n")]


def _block(data: bytes, after: Position) -> Block | None:
    middle = data.find(b"\n" + COMMIT_PREFIX, after.offset) + 1
    end = data.find(b"\n", middle, middle + LINE_BYTES_MAX) + 1
    if not middle or not end:
        return None
    commit = _commit(data, after.offset, middle, end, after.crc)
    if commit is None:
        return None
    follows = (commit.batch, commit.first, commit.size) == (
        after.batch + 1,
        after.seq + 1,
        middle - after.offset,
    )
    counted = commit.last - commit.first + 1 == data.count(b"\n", after.offset, middle)
    return Block(commit, after.offset, middle, end) if follows and counted else None


def _commit(data: bytes, begin: int, middle: int, end: int, seed: int) -> Commit | None:
    parsed = proof.read_line(data[middle:end])
    if parsed is None:
        return None
    kind, values, crc, covered = parsed
    if zlib.crc32(memoryview(data)[begin : middle + covered], seed) != crc or kind != "commit":
        return None
    try:
        commit = Commit(**{name: values[name] for name in _WRITTEN}, crc=crc)
    except KeyError:
        return None
    counts = (commit.batch, commit.first, commit.last, commit.size, commit.epoch, commit.synced)
    texts = (commit.level, commit.at, commit.key or "")
    sound = all(map(is_count, counts)) and all(isinstance(text, str) for text in texts)
    return commit if sound else None


def later_commit(data: bytes, after: Position) -> int | None:
    """The offset of a commit line that proves the bytes at `after` to be damage, if there is one.

    That is a whole batch which does not begin at `after`, or a later batch that was
    written when the next one had been synced. What was never synced may be torn
    anywhere, so other commit lines beyond prove nothing.
    """
    for line in _COMMIT_LINE.finditer(data, max(after.offset - 1, 0)):
        parsed = proof.read_line(line[1]) if len(line[1]) < LINE_BYTES_MAX else None
        if parsed and _proves_damage(data, line.start(1), parsed, after):
            return line.start(1)
    return None


def _proves_damage(
    data: bytes, at: int, parsed: tuple[str, dict[str, Any], int, int], after: Position
) -> bool:
    _, values, crc, covered = parsed
    batch, synced, size = (_count(values.get(name)) for name in ("batch", "synced", "size"))
    if batch > synced > after.batch:
        return True
    if batch != after.batch + 1 or size > at:
        return False
    return zlib.crc32(memoryview(data)[at - size : at + covered], after.crc) == crc


def _count(value: Any) -> int:
    return value if is_count(value) else 0
