"""From journal batches to one spool of lines a stream, with the facts that prove it.

The facts are taken from the lines in plain Python, so that what DuckDB and Parquet
make of the lines can be held against something that neither of them made.
"""

import zlib
from dataclasses import dataclass, field

from varvite.errors import CorruptError
from varvite.segments.manifest import Span
from varvite.segments.scan import Owner, Spool, lines
from varvite.session.parts import Batch

SAMPLE_EVERY = 256
_HEAD_END = b',"at":"'


@dataclass(slots=True)
class Gathered:
    """The lines of one stream.

    heads: CRC32 over the start of every line, up to `at`: seq, stream, id, rev, prev_seq.
    samples: row number and line of each `every`-th row, the first among them.
    """

    stream: str
    every: int = SAMPLE_EVERY
    spool: Spool = field(default_factory=Spool)
    rows: int = 0
    heads: int = 0
    spans: dict[str, Span] = field(default_factory=dict)
    samples: list[tuple[int, Owner, bytes]] = field(default_factory=list)

    def add(self, owner: Owner, found: list[bytes], heads: list[bytes]) -> None:
        """Add lines (without newlines) of one session, in order, with their heads."""
        first = self.spans[owner.uid].first if owner.uid in self.spans else _seq(heads[0])
        before = self.spans[owner.uid].rows if owner.uid in self.spans else 0
        self.spans[owner.uid] = Span(first, _seq(heads[-1]), before + len(found))
        for position in range(-self.rows % self.every, len(found), self.every):
            self.samples.append((self.rows + position, owner, found[position]))
        self.rows += len(found)
        self.heads = zlib.crc32(b"".join(heads), self.heads)
        self.spool.write(lines(owner, found))


class Gathering:
    """Streams as they fill. `bytes` is what they hold so far."""

    def __init__(self, only: str | None = None, *, every: int | None = None) -> None:
        """`only` one stream, where that is given; `every` as in `Gathered`."""
        self._every = every or SAMPLE_EVERY
        self.streams: dict[str, Gathered] = {}
        self.bytes = 0
        self._only = only.encode() if only else None

    def add(self, owner: Owner, batch: Batch) -> None:
        """Add a batch; its lines must be numbered as its commit says.

        Raises:
            CorruptError: .batch
        """
        for stream, (found, heads) in self._split(batch).items():
            name = stream.decode()
            if name not in self.streams:
                self.streams[name] = Gathered(name, self._every)
            self.streams[name].add(owner, found, heads)
        self.bytes += len(batch.body)

    def _split(self, batch: Batch) -> dict[bytes, tuple[list[bytes], list[bytes]]]:
        groups: dict[bytes, tuple[list[bytes], list[bytes]]] = {}
        for seq, line in enumerate(batch.lines(), batch.commit.first):
            begin = b'{"seq":%d,"stream":"' % seq
            if not line.startswith(begin):
                raise _misnumbered(batch, seq)
            stream = line[len(begin) : line.find(b'"', len(begin))]
            if stream in groups:
                found, heads = groups[stream]
            elif self._only is None or stream == self._only:
                found, heads = groups[stream] = ([], [])
            else:
                continue
            found.append(line)
            heads.append(line[: line.find(_HEAD_END)])
        return groups

    def close(self) -> None:
        for one in self.streams.values():
            one.spool.close()


def _seq(head: bytes) -> int:
    return int(head[7 : head.index(b",")])


def _misnumbered(batch: Batch, seq: int) -> CorruptError:
    return CorruptError(
        f"batch {batch.commit.batch}: the line of seq {seq} has another number",
        batch=batch.commit.batch,
        file=None,
        offset=None,
    )
