"""Mend what `verify` finds. What leaves its place is kept aside; nothing is deleted.

Damaged files of `_lake` go to `_lake/damaged`, those of a session to its `quarantine`.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from varvite.disk.files import Folder, storing
from varvite.errors import ManifestConflictError, VarviteError
from varvite.segments import manifest as manifests
from varvite.segments import mending, scan
from varvite.segments.chunks import write
from varvite.segments.delete import uid_of
from varvite.segments.findings import Finding
from varvite.segments.manifest import DAMAGED, LAKE, MANIFESTS, Manifest, Segment, ensured
from varvite.segments.merging import merge
from varvite.segments.plan import Merge
from varvite.segments.publishing import locked, publish
from varvite.segments.regather import regather
from varvite.segments.verify import verify
from varvite.segments.verify_lake import verify_manifests
from varvite.session import identity as identities
from varvite.session import listing
from varvite.session.kind import Kind
from varvite.session.rebuild import rebuild

Kinds = Callable[[str], Kind]


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done about a file, or would be. `lost`: ranges of seqs, both ends in them.

    mended: it is well again, or would be; else `done` says why it is not.
    """

    file: str
    what: str
    done: str
    session: str | None = None
    lost: list[tuple[int, int]] = field(default_factory=list)
    mended: bool = True

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def repair(store: Folder, kind_of: Kinds, *, dry_run: bool = False) -> list[Repair]:
    """Repair the store. Takes `_lake`'s lock, and a damaged session's while it is mended.

    Manifests first, then journals, then what is made from journals. Doing it again
    after a crash goes on.

    Raises:
        SessionLockedError: a compaction or a writer is at work.
        StorageError
    """
    if dry_run:
        return _Repairing(store, None, kind_of).all()
    with locked(store) as lake, storing(f"repairing {store.path}"):
        return _Repairing(store, lake, kind_of).all()


class _Repairing:
    """`lake` is None where nothing is to be done but to say it."""

    def __init__(self, store: Folder, lake: Folder | None, kind_of: Kinds) -> None:
        self._store, self._lake, self._kind_of = store, lake, kind_of
        self._done: list[Repair] = []
        self._settled: set[str] = set()
        self._stuck: set[str] = set()
        """Sessions made anew, and those that nothing can be made anew from."""

    def all(self) -> list[Repair]:
        self._manifests()
        found = verify(self._store)
        for name in sorted({one.session for one in found if one.area == "journal" and one.session}):
            self._mend(name, [one for one in found if one.session == name])
        for one in found:
            if one.area == "history" and one.session not in self._settled:
                self._forget(one)
        for one in found:
            if one.area == "segment":
                self._remake(one)
        for one in found:
            if one.area == "derived" and one.session and one.session not in self._settled:
                self._rebuild(one.session, one.file, one.what)
            elif one.area == "session":
                self._leave(one.file, one.what, f"left as it is: {one.hint}", one.session)
        return self._done

    def _say(
        self,
        file: str,
        what: str,
        done: str,
        session: str | None = None,
        lost: list[tuple[int, int]] | None = None,
    ) -> None:
        self._done.append(Repair(file, what, done, session, lost or []))

    def _leave(self, file: str, what: str, why: str, session: str | None = None) -> None:
        self._done.append(Repair(file, what, why, session, mended=False))

    def _manifests(self) -> None:
        """Put the content of the last sound generation in the place of a damaged one.

        It takes the number, so that a reader who looks upward finds no gap.
        """
        found, _ = verify_manifests(self._store)
        damaged = {one.file: one for one in found}
        sound = Manifest()
        for generation in manifests.generations(self._store):
            name = manifests.file_name(generation)
            file = f"{self._store.where(LAKE)}/{MANIFESTS}/{name}"
            if file not in damaged:
                sound = manifests.load_generation(self._store, generation)
                continue
            made = replace(sound, generation=generation)
            if self._lake:
                self._replace_manifest(self._lake, name, manifests.encode(made))
            done = f"quarantined; generation {sound.generation} stands in, compact again"
            self._say(file, damaged[file].what, done)

    def _replace_manifest(self, lake: Folder, name: str, data: bytes) -> None:
        with lake.folder(MANIFESTS) as folder, ensured(lake, DAMAGED) as kept:
            if kept.stat(name) is None:
                folder.link(name, name, to=kept)
                kept.sync()
            folder.replace(name, data, sync=True)

    def _mend(self, name: str, found: list[Finding]) -> None:
        manifest = manifests.load(self._store)
        try:
            mended = mending.mend(self._store, name, manifest, dry_run=self._lake is None)
        except VarviteError as error:
            self._settled.add(name)
            self._stuck.add(name)
            for one in found:
                self._leave(one.file, one.what, f"not mended: {error}", name)
            return
        if self._lake and mended.through and mended.through != manifest.sessions.get(mended.uid):
            publish(self._store, lambda base: mending.with_through(base, mended))
        salvaged = mended.salvaged
        done = (
            f"quarantined; {salvaged.kept} records kept, {_count(salvaged.restored)} restored "
            f"from segments, {_count(salvaged.lost)} lost"
        )
        for file, what in mended.faults.items():
            self._say(file, what, done, name, salvaged.lost)
        self._rebuild(name, self._store.where(name), "its journal was mended")

    def _forget(self, one: Finding) -> None:
        """Take a session's rows out of the segments; the next compaction makes them anew."""
        name = one.session or ""
        with identities.open_folder(self._store, name) as session:
            uid = identities.read(session).uid
        if self._lake:
            base = manifests.load(self._store)
            held = [one for one in base.segments if uid in one.sessions]
            made = {one.path: self._without(self._lake, base, one, uid) for one in held}
            publish(self._store, lambda base: _forgotten(base, uid, made))
        self._say(one.file, one.what, "its rows left the segments, compact again", name)

    def _without(self, lake: Folder, base: Manifest, segment: Segment, uid: str) -> list[Segment]:
        made = merge(
            self._store,
            lake,
            Merge(segment.stream, segment.tier, (segment,)),
            base.ids(),
            base.generation + 1,
            without={uid, *base.deleted},
        )
        return [made] if made else []

    def _remake(self, one: Finding) -> None:
        """Make a segment anew from the journals, and move the damaged one away."""
        manifest = manifests.load(self._store)
        found = {manifests.path_of(self._store, each): each for each in manifest.segments}
        segment = found.get(one.file)
        if segment is None:
            return
        names = _names(self._store)
        stuck = sorted(self._stuck & {names.get(uid) for uid in segment.sessions})
        if stuck:
            why = f"not made anew: {', '.join(map(str, stuck))} has no journal to make it from"
            self._leave(one.file, one.what, why)
            return
        lost = segment.sessions.keys() - names.keys() - manifest.deleted.keys()
        done = "quarantined, and made anew from the journal"
        if lost:
            done += f"; {len(lost)} sessions of it are in the store no more, their rows are lost"
        try:
            if self._lake:
                self._exchange(self._lake, manifest, segment, names)
        except VarviteError as error:
            self._leave(one.file, one.what, f"not made anew: {error}")
        else:
            self._say(one.file, one.what, done)

    def _exchange(
        self, lake: Folder, manifest: Manifest, segment: Segment, names: dict[str, str]
    ) -> None:
        live = {uid: name for uid, name in names.items() if uid not in manifest.deleted}
        with (
            closing(regather(self._store, segment, manifest.ids(), live)) as gathering,
            closing(scan.connect()) as connection,
        ):
            made = write(lake, gathering, connection, manifest.generation + 1, tier=segment.tier)
        publish(self._store, lambda base: _exchanged(base, {segment.path: made}))
        folder_name, name = segment.path.split("/")
        with lake.folder(folder_name) as folder, ensured(lake, DAMAGED) as kept:
            if folder.stat(name) is not None and segment.path not in {one.path for one in made}:
                folder.rename(name, f"{folder_name}-{name}", to=kept)

    def _rebuild(self, name: str, file: str, what: str) -> None:
        self._settled.add(name)
        done = "index, stream files and state made anew from the journal"
        try:
            with identities.open_folder(self._store, name) as session:
                kind = self._kind_of(identities.read(session).kind)
            if self._lake:
                rebuild(self._store, name, kind)
        except VarviteError as error:
            self._leave(file, what, f"not rebuilt: {error}", name)
        else:
            self._say(file, what, done, name)


def _count(ranges: list[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _names(store: Folder) -> dict[str, str]:
    """The directory of each session in the store by uid."""
    found: dict[str, str] = {}
    for name in listing.names(store):
        uid = uid_of(store, name)
        if uid:
            found.setdefault(uid, name)
    return found


def _forgotten(base: Manifest, uid: str, made: dict[str, list[Segment]]) -> Manifest:
    """The manifest without a session, in one step with the segments that hold it no more."""
    sessions = {one: through for one, through in base.sessions.items() if one != uid}
    return replace(_exchanged(base, made), sessions=sessions)


def _exchanged(base: Manifest, made: dict[str, list[Segment]]) -> Manifest:
    """The manifest with new segments exactly where old ones stood: their order is that of seqs.

    Raises:
        ManifestConflictError: an old one is there no more.
    """
    if not made.keys() <= {one.path for one in base.segments}:
        raise ManifestConflictError("another published other segments", hint="try again")
    listed = [new for one in base.segments for new in made.get(one.path, [one])]
    return replace(base, segments=tuple(listed))
