"""What may read history: compaction, questions in SQL, checkpoints. Shown, never judged."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from varvite.bench import floor
from varvite.bench.counting import Counts
from varvite.bench.figures import COUNTED, Figure, Rounds
from varvite.bench.floor import Floor
from varvite.bench.measuring import turned, watched
from varvite.bench.operations import Place
from varvite.bench.seeding import Progress
from varvite.errors import NotFoundError

if TYPE_CHECKING:
    from varvite.segments.compact import Compacted

COMPACT = "compact, per MB"
AGGREGATE = "select node_kind, count(*), avg(score) from {} group by node_kind"
QUESTIONS = {
    "sql aggregate": (AGGREGATE.format("node_revisions"), AGGREGATE.format("parquet")),
    "sql latest revisions": (AGGREGATE.format("nodes"), AGGREGATE.format("parquet")),
}
"""Each as the store is asked, and as DuckDB is that scans the same Parquet files."""

GRAPH_KINDS = (None, "graph")
RAW = "DuckDB's scan of the same Parquet"


def compacting(stores: Mapping[int, str], *, progress: Progress | None = None) -> Iterator[Figure]:
    """The cost of compacting the whole history once, by the MB of the journal's records."""
    for records, path in stores.items():
        yield _compaction(records, Place.at(path, 0), progress)


def _compaction(records: int, place: Place, progress: Progress | None) -> Figure:
    place.store.compact(dry_run=True)  # what is imported is no part of it
    receipts: list[Compacted] = []
    counts = watched(place, lambda: receipts.append(place.store.compact(progress=progress)))
    megabytes, bytes_out = receipts[0].bytes_in / 1e6, receipts[0].bytes_out
    with Floor(os.path.dirname(place.path)) as beside:
        floor_s = beside.seconds(bytes_out) / megabytes
    found = Rounds([_each(counts, megabytes)], [floor_s])
    facts = {"MB": megabytes, "bytes_out": bytes_out}
    return found.figure(COMPACT, records, history=True, floor=floor.NAME, **facts)


def _each(counts: Counts, share: float) -> Counts:
    each = {name: round(getattr(counts, name) / share) for name in COUNTED}
    return replace(counts, seconds=counts.seconds / share, cpu_s=counts.cpu_s / share, **each)


def asking(stores: Mapping[int, str], rounds: int) -> Iterator[Figure]:
    """Questions through the store, beside DuckDB's own scan; the first round proves segments."""
    for name, (ours, raw) in QUESTIONS.items():
        found = {records: Rounds() for records in stores}
        for number in range(1 + rounds):
            for records in turned(list(stores), number):
                place = Place.at(stores[records], number)
                counts = watched(place, partial(place.store.sql, ours))
                floor_s = _raw(place, raw)
                if number:
                    found[records].counts.append(counts)
                    found[records].floor_s.append(floor_s)
        for records, each in found.items():
            yield each.figure(name, records, history=True, floor=RAW)


def _raw(place: Place, sql: str) -> float:
    import duckdb

    files = node_segments(place)

    def ask() -> None:
        with duckdb.connect() as connection:
            connection.execute("set enable_progress_bar = false")
            parquet = connection.read_parquet(files)  # noqa: F841  (DuckDB finds it by its name)
            connection.sql(sql).fetchall()

    return watched(place, ask).seconds


def checkpointing(
    stores: Mapping[int, str], left_out: dict[str, str], *, progress: Progress | None = None
) -> Iterator[Figure]:
    """Each job that reads graph sessions, once a history; beside a scan of its nodes.

    left_out: takes what needs something that is not there, with the reason.
    """
    from varvite import checkpoints

    for job in checkpoints.jobs().values():
        if job.kind in GRAPH_KINDS:
            try:
                _import(job.name, next(iter(stores.values())))
                yield from [_checkpoint(job.name, *at, progress) for at in stores.items()]
            except NotFoundError as error:
                left_out[f"checkpoint {job.name}"] = error.message


def _import(name: str, path: str) -> None:
    """Do it once, so that what it imports is no part of its cost, and forget that it was done."""
    for ran in Place.at(path, 0).store.checkpoint(name):
        shutil.rmtree(ran.path)


def _checkpoint(name: str, records: int, path: str, progress: Progress | None) -> Figure:
    place, found = Place.at(path, 0), Rounds()
    call = partial(place.store.checkpoint, name, progress=progress)
    found.counts.append(watched(place, call))
    found.floor_s.append(_raw(place, AGGREGATE.format("parquet")))
    return found.figure(f"checkpoint {name}", records, history=True, floor=RAW)


def node_segments(place: Place) -> list[str]:
    """The paths of the Parquet files of nodes."""
    from varvite.disk.files import Folder
    from varvite.segments import manifest

    with Folder(place.store.files, place.path) as folder:
        listed = manifest.load(folder).segments
        return [manifest.path_of(folder, one) for one in listed if one.stream == "nodes"]
