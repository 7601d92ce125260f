"""Put a damaged journal together again: sound batches as they are, the rest told or restored.

Record lines keep their bytes and their seqs; commit lines are made anew, since each is
chained to the one before. A seq that no sound batch holds is restored from segments
where they have its row, else it becomes a record of the stream `lost`, which says so.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import orjson

from varvite.records.limits import BATCH_RECORDS_MAX
from varvite.session import journal
from varvite.session.journal import Position
from varvite.session.parts import Batch
from varvite.session.streams import by_stream

LOST = "lost"
ACTOR = "repair"

Restore = Callable[[int, int], dict[int, bytes]]
"""Record lines, with their newlines, of those seqs in a range that segments hold."""


@dataclass(slots=True)
class Salvaged:
    """What became of a journal. Ranges are of seqs, both ends in them."""

    kept: int = 0
    restored: list[tuple[int, int]] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Piece:
    """A batch to be written: its lines, and what its commit line said."""

    first: int
    lines: tuple[bytes, ...]
    key: str | None
    level: journal.Level
    epoch: int
    at: str


def pieces(
    batches: Iterable[Batch],
    after: int,
    upto: int,
    borders: Iterable[int],
    restore: Restore,
    at: str,
) -> tuple[list[Piece], Salvaged]:
    """The batches that make a journal from beyond `after` to `upto` whole.

    `batches` are sound and in the order of seq; one that begins before its turn is
    passed over. `borders` are seqs at which a batch must end, as segments count on it.
    """
    made: list[Piece] = []
    salvaged = Salvaged()
    cuts = sorted(borders)
    seq, epoch = after, 0
    for batch in batches:
        commit = batch.commit
        if commit.first <= seq:
            continue
        made += _filled(seq + 1, commit.first - 1, cuts, restore, epoch, at, salvaged)
        lines = tuple(line + b"\n" for line in batch.lines())
        made.append(Piece(commit.first, lines, commit.key, commit.level, commit.epoch, commit.at))
        salvaged.kept += len(lines)
        seq, epoch = commit.last, commit.epoch
    made += _filled(seq + 1, upto, cuts, restore, epoch, at, salvaged)
    return made, salvaged


def _filled(
    first: int,
    last: int,
    cuts: list[int],
    restore: Restore,
    epoch: int,
    at: str,
    salvaged: Salvaged,
) -> Iterator[Piece]:
    """Batches for seqs that no sound batch holds."""
    for begin, end in _ranges(first, last, cuts):
        found = restore(begin, end)
        lines = tuple(found.get(seq) or _lost(seq, at) for seq in range(begin, end + 1))
        for seq in range(begin, end + 1):
            _extend(salvaged.restored if seq in found else salvaged.lost, seq)
        yield Piece(begin, lines, None, "durable", epoch, at)


def _ranges(first: int, last: int, cuts: list[int]) -> Iterator[tuple[int, int]]:
    while first <= last:
        cut = min((cut for cut in cuts if first <= cut < last), default=last)
        end = min(cut, first + BATCH_RECORDS_MAX - 1)
        yield first, end
        first = end + 1


def _extend(ranges: list[tuple[int, int]], seq: int) -> None:
    if ranges and ranges[-1][1] == seq - 1:
        ranges[-1] = (ranges[-1][0], seq)
    else:
        ranges.append((seq, seq))


def _lost(seq: int, at: str) -> bytes:
    record = {
        "seq": seq,
        "stream": LOST,
        "id": f"{LOST}-{seq}",
        "rev": 0,
        "prev_seq": None,
        "at": at,
        "actor": ACTOR,
    }
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def written(
    uid: str, found: Iterable[Piece], after: Position, streams: dict[str, tuple[int, int]]
) -> tuple[bytes, Position, list[journal.Commit]]:
    """The bytes of one part, the place behind it, and its commits. `streams` is brought along."""
    head = journal.header_line(uid, after, streams)
    at = journal.read_header(head, "").position
    blocks, commits = [head], []
    for piece in found:
        at = at._replace(epoch=piece.epoch)
        block, commit = journal.build(
            piece.lines, at, key=piece.key, level=piece.level, at=piece.at
        )
        at = Position(commit.last, commit.batch, commit.crc, at.epoch, at.offset + len(block))
        blocks.append(block)
        commits.append(commit)
        for stream, lines in by_stream(piece.lines).items():
            records, size = streams.get(stream, (0, 0))
            streams[stream] = (records + len(lines), size + sum(map(len, lines)))
    return b"".join(blocks), at, commits
