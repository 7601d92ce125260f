"""The bytes of a journal part: how a batch becomes a block, and how blocks are read back.

Pure: bytes in, values out. A part is a header line, then blocks; a block is
record lines and one commit line. The CRC chain runs through headers and commits,
so a part proves itself from its header, and its header from the part before.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from varvite.disk import proof
from varvite.errors import CorruptError, NewerFormatError

FORMAT = 1
COMMIT_PREFIX = b'{"commit":{'
LINE_BYTES_MAX = 64 << 10

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
    """

    uid: str
    position: Position
    chain: int
    streams: dict[str, tuple[int, int]]

    @property
    def first(self) -> int:
        return self.position.seq + 1


@dataclass(frozen=True, slots=True)
class Commit:
    """The line that makes a block a batch."""

    batch: int
    first: int
    last: int
    size: int
    key: str | None
    epoch: int
    level: Level
    at: str
    crc: int = field(default=0)


class Block(NamedTuple):
    """A committed batch where it lies: records from `begin` to `middle`, commit line to `end`."""

    commit: Commit
    begin: int
    middle: int
    end: int


def header_line(uid: str, at: Position, streams: dict[str, tuple[int, int]]) -> bytes:
    """The header of a part that goes on from `at`."""
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
    """The header of the part that `data` begins.

    Raises:
        CorruptError: no header, or a damaged one.
        NewerFormatError: a format that this version does not read.
    """
    end = data.find(b"\n", 0, LINE_BYTES_MAX) + 1
    parsed = proof.read_line(data[:end]) if end else None
    if parsed is None or parsed[0] != "journal":
        raise CorruptError(f"{file}, byte 0: no journal header", file=file, offset=0, batch=0)
    _, values, crc, covered = parsed
    refuse_newer(values.get("format"), file)
    try:
        at = Position(values["seq"], values["batch"], crc, values["epoch"], end)
        streams = {name: (pair[0], pair[1]) for name, pair in values["streams"].items()}
        proved = zlib.crc32(memoryview(data)[:covered], values["chain"]) == crc
        header = Header(values["uid"], at, values["chain"], streams)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError):
        proved = False
    if not proved:
        raise CorruptError(
            f"{file}, byte 0: damaged header", file=file, offset=0, batch=0
        ) from None
    return header


def refuse_newer(found: Any, file: str) -> None:
    if isinstance(found, int) and found > FORMAT:
        raise NewerFormatError(
            f"{file} has format {found}; this version knows formats up to {FORMAT}",
            hint="upgrade varvite to read it",
            found=found,
            known=FORMAT,
        )


def build(
    lines: Sequence[bytes], after: Position, *, key: str | None, level: Level, at: str
) -> tuple[bytes, Commit]:
    """One block for `lines` (each with its newline), and its commit with the crc."""
    body = b"".join(lines)
    values: dict[str, Any] = {
        "batch": after.batch + 1,
        "first": after.seq + 1,
        "last": after.seq + len(lines),
        "size": len(body),
        "key": key,
        "epoch": after.epoch,
        "level": level,
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
    _, values, crc, covered = parsed
    if zlib.crc32(memoryview(data)[begin : middle + covered], seed) != crc:
        return None
    try:
        return Commit(**values)
    except TypeError:
        return None


def later_commit(data: bytes, after: Position) -> int | None:
    """The offset of a commit line beyond the bad region at `after`, if there is one.

    Batches are written one after another, so the commit of a batch later than
    the next one means damage in the middle, not a torn end.
    """
    begin = data.find(b"\n" + COMMIT_PREFIX, max(after.offset - 1, 0)) + 1
    while begin:
        end = data.find(b"\n", begin, begin + LINE_BYTES_MAX) + 1
        parsed = proof.read_line(data[begin:end])
        if parsed and _int(parsed[1].get("batch")) > after.batch + 1:
            return begin
        begin = data.find(b"\n" + COMMIT_PREFIX, begin) + 1
    return None


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0
