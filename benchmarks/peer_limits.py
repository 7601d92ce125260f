"""What a peer cannot do with a history of a size, and whom it would disturb by it."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from benchmarks.peer_stores import Peer, Varvite

WRITTEN_MAX = 100_000_000
"""Bytes of a single append."""
HELD_MAX = 0.8
"""Of the memory that is available."""
HELD_ASIDE = 1_000_000_000
"""Bytes; who holds more takes from the system's cache what the others' stores have in it."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A peer that is not measured with histories of `records`."""

    peer: type[Peer]
    records: int
    reason: str

    def __str__(self) -> str:
        return f"{self.peer.name} is left out at {self.records:,}: {self.reason}"


def left_out(
    peers: Iterable[type[Peer]], sizes: Iterable[int], free: int | None = None
) -> Iterator[LeftOut]:
    """free: bytes of memory that may be used; what is available if it is not given."""
    peers, free = list(peers), available() if free is None else free
    for records in sizes:
        for peer in peers:
            if reason := _reason(records * peer.bytes_written, records * peer.bytes_held, free):
                yield LeftOut(peer, records, reason)


def _reason(written: int, held: int, free: int) -> str | None:
    if written > WRITTEN_MAX:
        return f"each append would write its whole state, {_gb(written)}"
    if held > HELD_MAX * free:
        return f"it reads its whole history into {_gb(held)} of memory, {_gb(free)} are available"
    return None


def _gb(count: int) -> str:
    return f"{count / 1e9:.2g} GB"


def groups(peers: Sequence[type[Peer]], records: int) -> Iterator[list[type[Peer]]]:
    """Those to measure together; who holds much in memory comes last, with Varvite alone."""
    aside = [peer for peer in peers if records * peer.bytes_held > HELD_ASIDE]
    yield [peer for peer in peers if peer not in aside]
    for peer in aside:
        yield [Varvite, peer]


def available() -> int:
    """Bytes of memory that can be had without swapping; all there is where none can tell."""
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        found = dict(line.split(":") for line in file)
        return int(found["MemAvailable"].split()[0]) << 10
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
