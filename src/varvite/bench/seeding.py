"""Stores whose one session has a history of any size, laid down once and copied for each use.

A history is sampled search responses, sorted into buckets by their text and submitted
without a sync in large batches: what submitting them one by one would have left, but for
the size of the batches.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from random import Random
from typing import TypeVar

from varvite.disk.files import remove_all
from varvite.samples import search, words
from varvite.store import Store

SESSION = "history"
SEED = 1
BUCKETS = 100
RESPONSES_PER_BATCH = 200
_NEVER_CHANGED = (".sst", ".parquet", ".zst")

_Item = TypeVar("_Item")
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is."""


def grow(
    store: Store,
    session_id: str,
    records: int,
    *,
    seed: int = SEED,
    progress: Progress | None = None,
) -> None:
    """Make a graph session of at least `records` records, and of few more."""
    rng = Random(seed)  # noqa: S311  (samples, not secrets)
    with store.graph(session_id, create=True, level="fast") as session:
        for number in range(BUCKETS):
            session.open_bucket(words.title(rng), bucket_id=f"bucket_{number}")
        made = batches(search.responses(seed, records), RESPONSES_PER_BATCH)
        while session.cursor < records and (batch := next(made, None)):
            session.submit([response.payload() for response in batch])
            if progress:
                progress(f"seed {records:,}", min(session.cursor, records), records)


def seeded(folder: str, records: int, *, progress: Progress | None = None) -> str:
    """The path of a store with this history, made in `folder` if it is not there.

    It must not be changed. A run that is cut short leaves nothing under this name.
    """
    path = os.path.join(folder, f"{version('varvite')}-{SEED}-{records}")
    if not os.path.isdir(path):
        unfinished = f"{path}.tmp"
        remove_all(unfinished)
        grow(Store(unfinished), SESSION, records, progress=progress)
        os.rename(unfinished, path)
    return path


def copy(source: str, target: str) -> None:
    """Copy a store that nobody has open; files that are never written again are shared."""
    shutil.copytree(source, target, copy_function=_link_or_copy)


def _link_or_copy(source: str, target: str) -> None:
    sealed = os.path.basename(os.path.dirname(source)) == "journal"
    if sealed or source.endswith(_NEVER_CHANGED):
        os.link(source, target)
    else:
        shutil.copy2(source, target)


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
