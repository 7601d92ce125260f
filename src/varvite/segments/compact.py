"""Bring what is in journals alone into segments, beside live writers.

A chunk of the journals is gathered while the one before is written; each chunk is
published by itself, so a run that is cut short loses one chunk's work and no more.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import duckdb

from varvite.disk.files import Folder
from varvite.errors import CorruptError, ManifestConflictError, StoppedError, VarviteError
from varvite.segments import archive, scan
from varvite.segments import manifest as manifests
from varvite.segments.chunks import Chunk, chunks, write
from varvite.segments.ends import ends
from varvite.segments.manifest import Manifest, Segment
from varvite.segments.merging import merge
from varvite.segments.plan import Compact, End, Merge, plan
from varvite.segments.publishing import locked, publish
from varvite.session import faces
from varvite.session import identity as identities
from varvite.session.kind import Kind

SCAN_MEMORY, SCAN_THREADS = "256MB", 1
"""Each thread of a scan may hold 2,048 lines decoded, however long; a second one gathers."""

Kinds = Callable[[str], Kind]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is."""


@dataclass(slots=True)
class Compacted:
    """What a run did, or would do. Bytes are the journals' records in, the segments' out.

    rows_merged: rows of segments that were rewritten. parts_archived: sealed journal
    parts that are compressed now.
    """

    generation_before: int = 0
    generation_after: int = 0
    rows: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    segments_written: int = 0
    rows_merged: int = 0
    segments_merged: int = 0
    parts_archived: int = 0
    seconds: float = 0.0
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def compact(
    store: Folder,
    *,
    dry_run: bool = False,
    max_seconds: float | None = None,
    progress: Progress | None = None,
    wait_s: float = 0,
    kind_of: Kinds | None = None,
) -> Compacted:
    """Compact every session to its last committed batch, merge, and archive sealed parts.

    kind_of: the kind of session of a name; with it, faces that are behind are written.
    Takes `_lake`'s lock, no session's. Memory is bounded; doing it again goes on
    where the last run stopped. A damaged session does not stop the others.

    Raises:
        SessionLockedError: another compaction is at work.
        StoppedError: `max_seconds` are over; what was done is published, `.receipt`.
        CorruptError, NotASessionError: what kept a session from being compacted, once all
            others are, `.receipt`; `.others` where several were kept.
        DiskFullError, StorageError
    """
    run = _Run(store, max_seconds, progress, kind_of)
    if dry_run:
        return run.foresee()
    with locked(store, wait_s=wait_s) as lake:
        return run.act(lake)


class _Run:
    def __init__(
        self,
        store: Folder,
        max_seconds: float | None,
        progress: Progress | None,
        kind_of: Kinds | None,
    ) -> None:
        self._store, self._report, self._kind_of = store, progress or _silent, kind_of
        self._began = time.monotonic()
        self._deadline = None if max_seconds is None else self._began + max_seconds
        self._manifest: Manifest = manifests.load(store)
        self._receipt = Compacted(generation_before=self._manifest.generation)

    def foresee(self) -> Compacted:
        receipt = self._receipt
        receipt.dry_run = True
        for step in plan(self._manifest, ends(self._store).by_uid):
            if isinstance(step, Compact):
                receipt.rows = sum(one.rows for one in step.ranges)
            else:
                self._count_merge(step)
        return self._finish()

    def act(self, lake: Folder) -> Compacted:
        self._manifest = manifests.load(self._store)
        try:
            faults = self._all(lake)
            if faults:
                raise _told(faults)
        except VarviteError as error:
            error.data["receipt"] = self._finish().as_dict()
            raise
        return self._finish()

    def _all(self, lake: Folder) -> list[VarviteError]:
        found = ends(self._store)
        faults = found.faults + _shorter(self._manifest, found.by_uid)
        for step in plan(self._manifest, found.by_uid):
            if isinstance(step, Compact):
                self._compact(lake, step, found.names, faults)
        self._merge(lake)
        self._archive(found.names)
        self._show(found.names)
        self._stop_if_over()
        return faults

    def _compact(
        self, lake: Folder, step: Compact, names: dict[str, str], faults: list[VarviteError]
    ) -> None:
        """Gather in this thread, write in another, publish in order."""
        total = sum(one.rows for one in step.ranges)
        pending: tuple[Chunk, Future[list[Segment]]] | None = None
        with ExitStack() as stack:
            connection = stack.enter_context(
                closing(scan.connect(memory_limit=SCAN_MEMORY, threads=SCAN_THREADS))
            )
            spools = stack.enter_context(ExitStack())
            pool = stack.enter_context(ThreadPoolExecutor(1))
            found = chunks(self._store, self._manifest, step.ranges, names, faults)
            for chunk in stack.enter_context(closing(found)):
                spools.callback(chunk.gathering.close)
                self._take(pending, total)
                pending = chunk, pool.submit(self._write, lake, chunk, connection)
            self._take(pending, total)

    def _write(
        self, lake: Folder, chunk: Chunk, connection: duckdb.DuckDBPyConnection
    ) -> list[Segment]:
        try:
            return write(lake, chunk.gathering, connection, self._manifest.generation + 1)
        finally:
            chunk.gathering.close()

    def _take(self, pending: tuple[Chunk, Future[list[Segment]]] | None, total: int) -> None:
        """Publish what the other thread wrote."""
        if pending is None:
            return
        chunk, future = pending
        made = future.result()
        self._manifest = publish(self._store, lambda base: _with_chunk(base, chunk, made))
        receipt = self._receipt
        receipt.rows += chunk.rows
        receipt.bytes_in += chunk.gathering.bytes
        receipt.bytes_out += sum(one.bytes for one in made)
        receipt.segments_written += len(made)
        self._report("compact", receipt.rows, total)
        self._stop_if_over()

    def _merge(self, lake: Folder) -> None:
        done = 0
        while steps := [one for one in plan(self._manifest, {}) if isinstance(one, Merge)]:
            self._merge_one(lake, steps[0])
            done += 1
            self._report("merge", done, done + len(steps) - 1)
            self._stop_if_over()

    def _merge_one(self, lake: Folder, step: Merge) -> None:
        base = self._manifest
        made = merge(
            self._store,
            lake,
            step,
            base.ids(),
            base.generation + 1,
            without=base.deleted.keys(),
        )
        self._manifest = publish(self._store, lambda base: replaced(base, step.segments, made))
        self._count_merge(step)
        self._receipt.bytes_out += made.bytes if made else 0

    def _count_merge(self, step: Merge) -> None:
        self._receipt.segments_merged += len(step.segments)
        self._receipt.rows_merged += sum(one.rows for one in step.segments)

    def _archive(self, names: dict[str, str]) -> None:
        """Compress in two threads: the work is zstd's."""
        with ThreadPoolExecutor(2) as pool:
            results = pool.map(self._archive_one, names.items())
            for done, archived in enumerate(results, 1):
                self._receipt.parts_archived += archived
                self._report("archive", done, len(names))

    def _archive_one(self, session: tuple[str, str]) -> int:
        uid, name = session
        if self._over():
            return 0
        try:
            with self._store.folder(name) as folder:
                return archive.archive(folder, self._manifest.compacted(uid))
        except FileNotFoundError:
            return 0  # deleted meanwhile

    def _show(self, names: dict[str, str]) -> None:
        """Write the faces that are behind. They are derived: a failure leaves them so."""
        if self._kind_of is None:
            return
        for uid, name in names.items():
            if self._over():
                return
            with suppress(OSError, VarviteError), self._store.folder(name) as folder:
                identity = identities.read(folder)
                kind = self._kind_of(identity.kind)
                faces.catch_up(folder, identity, kind, self._manifest.compacted(uid))

    def _over(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _stop_if_over(self) -> None:
        if self._over():
            raise StoppedError("compaction stopped, its time was over", hint="run it again")

    def _finish(self) -> Compacted:
        self._receipt.generation_after = self._manifest.generation
        self._receipt.seconds = time.monotonic() - self._began
        return self._receipt


def _told(faults: list[VarviteError]) -> VarviteError:
    """The first fault, which says that it did not stop the others."""
    first = faults[0]
    first.hint = "; ".join(filter(None, [first.hint, "all other sessions are compacted"]))
    if len(faults) > 1:
        first.data["others"] = [each.as_dict() for each in faults[1:]]
    return first


def _with_chunk(base: Manifest, chunk: Chunk, made: list[Segment]) -> Manifest:
    """The manifest with a chunk's segments; a session deleted meanwhile stays deleted."""
    live = {uid: one for uid, one in chunk.through.items() if uid not in base.deleted}
    for uid, through in live.items():
        if base.compacted(uid) != chunk.after[uid]:
            raise ManifestConflictError(
                f"another compaction brought {through.id} to seq {base.compacted(uid)}"
            )
    return replace(
        base,
        sessions={**base.sessions, **live},
        segments=(*base.segments, *made),
    )


def replaced(base: Manifest, old: tuple[Segment, ...], new: Segment | None) -> Manifest:
    """The manifest with `new` in the place of the segments `old`."""
    gone = {one.path for one in old}
    if not gone <= {one.path for one in base.segments}:
        raise ManifestConflictError("another compaction merged these segments")
    kept = tuple(one for one in base.segments if one.path not in gone)
    return replace(base, segments=(*kept, new) if new else kept)


def _shorter(manifest: Manifest, found: Mapping[str, End]) -> list[VarviteError]:
    """Journals that end before what segments hold of them."""
    return [
        CorruptError(
            f"{end.id} ends at seq {end.cursor}, segments hold seq {manifest.compacted(uid)} of it",
            hint="its journal was put back to an older state; `varvite repair` shows what to do",
            file=None,
            offset=None,
        )
        for uid, end in found.items()
        if end.cursor < manifest.compacted(uid)
    ]


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report to nobody."""
