"""The peers' histories: laid down once, each alone, kept in the folder and found again.

What is kept of one peer does not wait for the next, so a run that is cut short goes on
with those that it had not finished. One run at a time may work in a folder.

A measurement gets a copy, in which files that are never written again are shared. From
IN_PLACE records on it gets the kept history itself: it adds some thousand runs to it, which
is nothing beside ten million, where a copy would be of 25 GB.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks import seeding
from benchmarks.peer_stores import Peer, Varvite
from benchmarks.seeding import Plan
from varvite.bench.seeding import Progress, copy
from varvite.disk.files import remove_all
from varvite.store import Store
from varvite.testing import growing

IN_PLACE = 5_000_000
"""Records."""


def laid(plan: Plan, peer: type[Peer], records: int, progress: Progress) -> str:
    """The path of the peer's kept history, the same runs for all, made if it is not there."""
    path = _path(plan, peer, records)
    if not os.path.isdir(path):
        unfinished = _empty(f"{path}.tmp")
        os.mkdir(unfinished)
        grow(peer, unfinished, records, progress)
        os.rename(unfinished, path)
    return path


def compacted(plan: Plan, records: int, progress: Progress) -> str:
    """Varvite's kept history with all in segments and sealed parts archived."""
    source = laid(plan, Varvite, records, progress)
    path = f"{source}-compacted"
    if not os.path.isdir(path):
        progress(f"compact {records:,}", 0, records)
        unfinished = _empty(f"{path}.tmp")
        copy(source, unfinished)
        Store(unfinished).compact()
        os.rename(unfinished, path)
    return path


def grow(peer: type[Peer], folder: str, records: int, progress: Progress) -> None:
    store, done = peer(folder), 0
    for batch in growing.batches(growing.runs(1, records), growing.RECORDS_PER_BATCH):
        store.grow(batch)
        done += len(batch)
        progress(f"lay down {peer.name}, {records:,}", done, records)
    store.close()


def forget(plan: Plan, peers: Iterable[type[Peer]]) -> None:
    """Remove what is kept of the plan's sizes."""
    for path in [_path(plan, peer, records) for peer in peers for records in plan.sizes]:
        for kept in (path, f"{path}-compacted"):
            remove_all(kept)


@contextmanager
def lent(
    plan: Plan, peers: Sequence[type[Peer]], records: int, progress: Progress
) -> Iterator[dict[type[Peer], str]]:
    """A store of each peer with the history, to open and append to within the block."""
    kept = {peer: laid(plan, peer, records, progress) for peer in peers}
    if records >= IN_PLACE:
        yield kept
        return
    with seeding.scratch(plan) as folder:
        copies = {peer: os.path.join(folder, os.path.basename(kept[peer])) for peer in peers}
        for peer, path in copies.items():
            copy(kept[peer], path)
        os.sync()  # else the copies are written out while others' syncs are measured
        yield copies


def _path(plan: Plan, peer: type[Peer], records: int) -> str:
    return os.path.join(plan.folder, f"peer-{peer.__name__.lower()}-{records}")


def _empty(path: str) -> str:
    """The path, with nothing there of a run that was cut short."""
    remove_all(path)
    return path
