"""Remove what no manifest lists, no reader pins and no grace period keeps.

The only place that deletes: superseded generations with their segments, files that a
run cut short left behind, rows and directories of deleted sessions.
"""

import re
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from varvite.clock import format_utc
from varvite.disk import proof
from varvite.disk.files import Folder, is_folder, storing
from varvite.errors import CorruptError
from varvite.segments import manifest as manifests
from varvite.segments import pins
from varvite.segments.compact import replaced
from varvite.segments.delete import TRASH, uid_of
from varvite.segments.manifest import DAMAGED, LAKE, MANIFESTS, Manifest
from varvite.segments.merging import merge
from varvite.segments.plan import Merge
from varvite.segments.publishing import locked, publish

GRACE_HOURS = 24.0
_TRASHED = re.compile(r"(\d{4}-\d\d-\d\dT)(\d\d)(\d\d)(\d\d\.\d{6}Z)-.+-([0-9a-f]{32})")
_SEGMENT = re.compile(r"[0-9a-f-]+\.parquet")


@dataclass(slots=True)
class Swept:
    """What was removed, or would be. rows_purged: rows of deleted sessions, in rewritten files."""

    generations: int = 0
    segments: int = 0
    sessions: int = 0
    rows_purged: int = 0
    bytes_freed: int = 0
    pinned: int = 0
    seconds: float = 0.0
    dry_run: bool = False

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def gc(
    store: Folder, *, grace_hours: float = GRACE_HOURS, dry_run: bool = False, wait_s: float = 0
) -> Swept:
    """Sweep the store. Takes `_lake`'s lock; cost grows with the files, not with the rows.

    Raises:
        SessionLockedError: a compaction is at work.
        CorruptError: the newest manifest is damaged; nothing was removed.
    """
    began = time.monotonic()
    swept = Swept(dry_run=dry_run)
    opened = _looked_at(store) if dry_run else locked(store, wait_s=wait_s)
    with opened as lake, storing(f"sweeping {store.path}"):
        if lake is not None:
            _Sweep(store, lake, timedelta(hours=grace_hours), swept).all()
    swept.seconds = time.monotonic() - began
    return swept


@contextmanager
def _looked_at(store: Folder) -> Iterator[Folder | None]:
    """`_lake` without its lock, to look only."""
    if store.stat(LAKE) is None:
        yield None
        return
    with store.folder(LAKE) as lake:
        yield lake


class _Sweep:
    def __init__(self, store: Folder, lake: Folder, grace: timedelta, swept: Swept) -> None:
        self._store, self._lake, self._grace = store, lake, grace
        self.swept = swept
        self._manifest = manifests.load(store)

    def all(self) -> None:
        self._purge()
        self._generations()
        self._trash()
        self._forget()

    @property
    def _before(self) -> str:
        """The end of the grace period, now: with none, what a step leaves the next one takes."""
        return format_utc(datetime.now(UTC) - self._grace)

    def _purge(self) -> None:
        """Rewrite the segments that hold rows of sessions deleted before the grace period."""
        before = self._before
        due = {uid for uid, gone in self._manifest.deleted.items() if gone.at <= before}
        for segment in self._manifest.segments:
            rows = sum(span.rows for uid, span in segment.sessions.items() if uid in due)
            if not rows:
                continue
            self.swept.rows_purged += rows
            if not self.swept.dry_run:
                self._rewrite(Merge(segment.stream, segment.tier, (segment,)))

    def _rewrite(self, step: Merge) -> None:
        base = self._manifest
        made = merge(
            self._store,
            self._lake,
            step,
            base.ids(),
            base.generation + 1,
            without=base.deleted.keys(),
        )
        self._manifest = publish(self._store, lambda base: replaced(base, step.segments, made))

    def _generations(self) -> None:
        """Remove the generations superseded before the grace period that nobody pins.

        Pins are looked at again once the manifests are gone: a reader that pins one
        and still finds it is then safe.
        """
        pinned = pins.generations(self._lake)
        superseded = self._superseded()
        doomed = {one: data for one, data in superseded.items() if one not in pinned}
        if not self.swept.dry_run:
            pinned = self._take_away(doomed)
        gone = doomed.keys() - pinned
        self.swept.generations, self.swept.pinned = len(gone), len(pinned)
        self._files(gone, pinned)

    def _superseded(self) -> dict[int, bytes]:
        """Generation and bytes of the manifests that were superseded before the grace period."""
        found: dict[int, bytes] = {}
        kept = manifests.generations(self._store)
        with self._lake.folder(MANIFESTS) as folder:
            for generation, following in pairwise(kept):
                data = folder.read(manifests.file_name(following))
                if _at(data) <= self._before:
                    found[generation] = folder.read(manifests.file_name(generation))
        return found

    def _take_away(self, doomed: dict[int, bytes]) -> set[int]:
        """Remove manifests, those pinned meanwhile excepted; the generations pinned now."""
        with self._lake.folder(MANIFESTS) as folder:
            for generation in doomed:
                folder.remove(manifests.file_name(generation))
            folder.sync()
            pinned = pins.generations(self._lake)
            for generation in pinned & doomed.keys():
                folder.replace(manifests.file_name(generation), doomed[generation], sync=True)
        return pinned

    def _files(self, gone: Collection[int], pinned: Collection[int]) -> None:
        """Remove the segments that no generation that stays lists.

        A file that none ever listed waits for the grace period. With a pin whose
        manifest is lost nobody knows what it needs, and all stay.
        """
        staying = [one for one in manifests.generations(self._store) if one not in gone]
        if not set(pinned) <= set(staying):
            return
        needed = {
            segment.path
            for generation in staying
            for segment in manifests.load_generation(self._store, generation).segments
        }
        for folder_name in self._lake.names():
            if folder_name != DAMAGED and is_folder(self._lake.stat(folder_name)):
                with self._lake.folder(folder_name) as folder:
                    self._stream(folder, folder_name, needed)

    def _stream(self, folder: Folder, folder_name: str, needed: Collection[str]) -> None:
        for name in folder.names():
            seen = folder.stat(name)
            if not _SEGMENT.fullmatch(name) or f"{folder_name}/{name}" in needed or seen is None:
                continue
            written = format_utc(datetime.fromtimestamp(seen.st_mtime, UTC))
            if written <= self._before:
                self.swept.segments += 1
                self._remove(folder, name, seen.st_size)

    def _trash(self) -> None:
        """Remove the directories of sessions deleted before the grace period."""
        if not is_folder(self._store.stat(TRASH)):
            return
        with self._store.folder(TRASH) as trash:
            for name in trash.names():
                match = _TRASHED.fullmatch(name)
                if match and f"{match[1]}{match[2]}:{match[3]}:{match[4]}" <= self._before:
                    self.swept.sessions += 1
                    self._remove_tree(trash, name)

    def _forget(self) -> None:
        """Take from the manifest the deleted sessions of which nothing is left."""
        if self.swept.dry_run:
            return
        held = {uid for one in self._manifest.segments for uid in one.sessions}
        left = held | self._trashed_uids()
        over = {
            uid
            for uid, gone in self._manifest.deleted.items()
            if gone.at <= self._before
            and uid not in left
            and uid_of(self._store, gone.id) != uid  # a deletion that was cut short is still to end
        }
        if over:
            self._manifest = publish(self._store, lambda base: _forgotten(base, over))

    def _trashed_uids(self) -> set[str]:
        if not is_folder(self._store.stat(TRASH)):
            return set()
        with self._store.folder(TRASH) as trash:
            return {match[5] for name in trash.names() if (match := _TRASHED.fullmatch(name))}

    def _remove(self, folder: Folder, name: str, size: int) -> None:
        self.swept.bytes_freed += size
        if not self.swept.dry_run:
            folder.remove(name)

    def _remove_tree(self, parent: Folder, name: str) -> None:
        with parent.folder(name) as folder:
            for inner in folder.names():
                seen = folder.stat(inner)
                if seen is not None and is_folder(seen):
                    self._remove_tree(folder, inner)
                elif seen is not None:
                    self._remove(folder, inner, seen.st_size)
        if not self.swept.dry_run:
            parent.files.rmdir(name, dir_fd=parent.fd)


def _forgotten(base: Manifest, over: Collection[str]) -> Manifest:
    return replace(base, deleted={u: one for u, one in base.deleted.items() if u not in over})


def _at(data: bytes) -> str:
    """When a manifest was published; the end of time where it does not say."""
    try:
        return str(proof.read_document(data, "")["at"])
    except (CorruptError, KeyError):
        return "9999"
