"""Mend a damaged journal in its place: what it was goes to quarantine, whole.

Only the parts from the first damage on are written anew, each under its own first seq,
so that a crash in between leaves a journal that can be mended again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from varvite.clock import now
from varvite.disk.files import Folder, storing, write_all
from varvite.disk.lock import Lock
from varvite.segments import chains, restoring, salvage
from varvite.segments.chains import Part
from varvite.segments.manifest import Manifest, Through, ensured
from varvite.segments.salvage import Salvaged
from varvite.segments.verify_index import applied_to
from varvite.session import identity as identities
from varvite.session import parts
from varvite.session.journal import Position
from varvite.session.recovery import QUARANTINE
from varvite.session.state import Clean
from varvite.session.streams import by_stream

NEW = "repair.tmp"


@dataclass(slots=True)
class Mended:
    """What became of one session's journal. `faults` are the parts that were damaged."""

    uid: str
    salvaged: Salvaged
    faults: dict[str, str]
    through: Through | None


def mend(store: Folder, name: str, manifest: Manifest, *, dry_run: bool) -> Mended:
    """Make a session's journal whole again. Takes its writer lock.

    Sound batches stay, byte for byte and under their seqs; a seq that none holds is
    restored from segments, or told as a record of the stream `lost`.

    Raises:
        SessionLockedError, NotASessionError, StorageError
    """
    with identities.open_folder(store, name) as session:
        lock = None if dry_run else Lock.acquire(session, what=name)
        try:
            with storing(f"mending {session.path}"):
                return _Mending(store, session, manifest).run(dry_run=dry_run)
        finally:
            if lock:
                lock.release()


class _Mending:
    def __init__(self, store: Folder, session: Folder, manifest: Manifest) -> None:
        self._store, self._session, self._manifest = store, session, manifest
        self._uid = identities.read(session, writing=True).uid
        self._through = manifest.sessions.get(self._uid)
        applied, _ = applied_to(session, "")
        self._seen = chains.seen(session, self._uid, applied)
        self._upto = max(self._seen, manifest.compacted(self._uid))
        self._result = Mended(self._uid, Salvaged(), {}, self._through)
        self._at = Position(0, 0, 0, 0, 0)
        self._streams: dict[str, tuple[int, int]] = {}
        self._moment = now()

    def run(self, *, dry_run: bool) -> Mended:
        names = []
        for part, upto in self._with_ends():
            if part.fault:
                self._result.faults[self._session.where(part.name)] = part.fault.message
            if self._result.faults:
                data = self._anew(part, upto)
                names.append(part.name)
                if not dry_run:
                    self._write(part.name, data)
            else:
                self._pass_over(part)
        if names and not dry_run:
            self._place(names)
        return self._result

    def _with_ends(self) -> Iterator[tuple[Part, int]]:
        """Each part and the seq that it must reach: the next one's beginning."""
        held: Part | None = None
        for part in chains.walk(self._session, self._uid, seen=self._seen):
            if held:
                yield held, part.first - 1
            held = part
        if held:
            last = max((b.commit.last for b in chains.sound_batches(held)), default=0)
            yield held, max(last, self._upto)

    def _pass_over(self, part: Part) -> None:
        if part.end is None or part.header is None:
            return
        self._at = part.end
        self._streams = dict(part.header.streams)
        for block in part.blocks:
            lines = part.data[block.begin : block.middle].split(b"\n")[:-1]
            for stream, found in by_stream(lines).items():
                records, size = self._streams.get(stream, (0, 0))
                added = sum(map(len, found)) + len(found)
                self._streams[stream] = (records + len(found), size + added)

    def _anew(self, part: Part, upto: int) -> bytes:
        made, salvaged = salvage.pieces(
            chains.sound_batches(part),
            self._at.seq,
            upto,
            [self._through.cursor] if self._through else [],
            self._restore,
            self._moment,
        )
        total = self._result.salvaged
        total.kept += salvaged.kept
        total.restored += salvaged.restored
        total.lost += salvaged.lost
        data, self._at, commits = salvage.written(self._uid, made, self._at, self._streams)
        for commit in commits:
            if self._through and commit.last == self._through.cursor:
                changed = self._through._replace(batch=commit.batch, crc=commit.crc)
                self._result.through = changed
        return data

    def _restore(self, first: int, last: int) -> dict[int, bytes]:
        return restoring.lines(self._store, self._manifest, self._uid, first, last)

    def _write(self, name: str, data: bytes) -> None:
        with ensured(self._session, NEW) as folder:
            short = _plain(name)
            folder.remove(short)
            fd = folder.create(short)
            try:
                write_all(folder.files, fd, data)
                folder.files.sync(fd)
            finally:
                folder.files.close(fd)
            folder.sync()

    def _place(self, names: list[str]) -> None:
        """Keep the old parts in quarantine, then put the new ones in their places, in order."""
        session, stamp = self._session, self._moment.replace(":", "")
        with (
            ensured(session, QUARANTINE) as kept,
            ensured(session, parts.SEALED) as sealed,
            ensured(session, NEW) as new,
        ):
            for name in names:
                place = session if name == parts.ACTIVE else sealed
                short = name.rpartition("/")[2]
                place.link(short, f"{stamp}-{short}", to=kept)
            kept.sync()
            session.remove(Clean.FILE)
            for name in names:
                place = session if name == parts.ACTIVE else sealed
                short = name.rpartition("/")[2]
                new.rename(_plain(name), _plain(name), to=place)
                if short != _plain(name):
                    place.remove(short)
            sealed.sync()
            session.sync()


def _plain(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".zst")


def with_through(base: Manifest, mended: Mended) -> Manifest:
    """The manifest that goes on from the mended journal."""
    if mended.through is None or mended.uid not in base.sessions:
        return base
    return replace(base, sessions={**base.sessions, mended.uid: mended.through})
