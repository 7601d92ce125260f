"""Which segments exist: numbered generations, each a whole file that is created only if absent.

The manifest is the only way to a segment; a Parquet file that none lists is not data.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from varvite import ids
from varvite.clock import now
from varvite.disk import proof
from varvite.disk.files import Folder, is_folder, storing
from varvite.errors import CorruptError, ManifestConflictError, NewerFormatError

LAKE = "_lake"
MANIFESTS = "manifests"
LATEST = "latest"
FORMAT = 1
_DIGITS = 20
PINS = "pins"
DAMAGED = "damaged"
TEMPORARY = "tmp"
_RESERVED = frozenset({LATEST, MANIFESTS, PINS, DAMAGED, TEMPORARY, "lock"})
_PATH = re.compile(r"[a-z][a-z0-9_]{0,63}(-stream)?/[0-9a-f-]+\.parquet")


class Through(NamedTuple):
    """How far a session is compacted: its journal's cursor, batch and chained crc there."""

    id: str
    kind: str
    cursor: int
    batch: int
    crc: int


class Span(NamedTuple):
    """One session's rows in a segment; seqs between them may be other streams'."""

    first: int
    last: int
    rows: int


class Gone(NamedTuple):
    """A session that is gone, since when."""

    id: str
    at: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A Parquet file of one stream. `path` is relative to `_lake`, `sessions` by uid."""

    path: str
    stream: str
    tier: int
    rows: int
    bytes: int
    crc32: int
    sha256: str
    sessions: Mapping[str, Span]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One generation; 0 is the empty one of a store that was never compacted.

    sessions: by uid. deleted: by uid; their rows may still lie in live files.
    """

    generation: int = 0
    at: str = ""
    sessions: Mapping[str, Through] = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    deleted: Mapping[str, Gone] = field(default_factory=dict)

    def ids(self) -> dict[str, str]:
        """Session ids by uid, of all whose rows may lie in a segment."""
        deleted = {uid: one.id for uid, one in self.deleted.items()}
        return deleted | {uid: one.id for uid, one in self.sessions.items()}

    def compacted(self, uid: str) -> int:
        """The seq through which segments hold the session; 0 for none of it."""
        through = self.sessions.get(uid)
        return through.cursor if through else 0


def load(store: Folder) -> Manifest:
    """The newest generation.

    Raises:
        CorruptError, NewerFormatError
    """
    while newest := latest(store):
        with suppress(FileNotFoundError):  # superseded and swept since it was found
            return load_generation(store, newest)
    return Manifest()


def latest(store: Folder) -> int:
    """The newest generation's number; 0 where there is none. The hint, then a stat or two."""
    try:
        with store.folder(LAKE) as lake, lake.folder(MANIFESTS) as folder:
            found = _hinted(lake, folder) or max(_numbers(folder), default=0)
            while folder.stat(file_name(found + 1)) is not None:
                found += 1
            return found
    except FileNotFoundError:
        return 0


def generations(store: Folder) -> list[int]:
    """The generations that are kept, oldest first."""
    try:
        with store.folder(LAKE) as lake, lake.folder(MANIFESTS) as folder:
            return sorted(_numbers(folder))
    except FileNotFoundError:
        return []


def load_generation(store: Folder, generation: int) -> Manifest:
    """One generation.

    Raises:
        FileNotFoundError: a later one was published, and this one swept away.
        CorruptError, NewerFormatError
    """
    with store.folder(LAKE) as lake, lake.folder(MANIFESTS) as folder:
        name = file_name(generation)
        return decode(folder.read(name), folder.where(name), generation)


def decode(data: bytes, file: str, generation: int) -> Manifest:
    """The manifest that `data` holds.

    Raises:
        CorruptError: damaged, or another generation's.
        NewerFormatError
    """
    values = proof.read_document(data, file)
    _refuse_newer(values.get("format"), file)
    try:
        made = Manifest(
            values["generation"],
            values["at"],
            {uid: Through(*one) for uid, one in values["sessions"].items()},
            tuple(_segment(one) for one in values["segments"]),
            {uid: Gone(*one) for uid, one in values["deleted"].items()},
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        made = Manifest()
    if made.generation != generation:
        raise CorruptError(f"{file} is damaged", file=file, offset=0)
    return made


def encode(manifest: Manifest) -> bytes:
    return proof.document(
        {
            "format": FORMAT,
            "generation": manifest.generation,
            "at": manifest.at,
            "sessions": {uid: list(one) for uid, one in sorted(manifest.sessions.items())},
            "segments": [_values(one) for one in manifest.segments],
            "deleted": {uid: list(one) for uid, one in sorted(manifest.deleted.items())},
        }
    )


def publish(store: Folder, manifest: Manifest) -> Manifest:
    """Make `manifest` the next generation after the one it was derived from; returns it.

    Durable when it returns. A crash leaves the old generation or the new one.

    Raises:
        ManifestConflictError: that generation exists; read again, derive again.
        StorageError
    """
    made = replace(manifest, generation=manifest.generation + 1, at=now())
    doing = f"publishing generation {made.generation} of {store.where(LAKE)}"
    with storing(doing), ensured(store, LAKE) as lake, ensured(lake, MANIFESTS) as folder:
        _create(folder, made)
        with suppress(OSError):  # a hint: readers look upward from an older one
            lake.replace(LATEST, b"%d\n" % made.generation, sync=False)
    return made


def ensured(parent: Folder, name: str) -> Folder:
    """The folder of this name, made if there is none."""
    if not is_folder(parent.stat(name)):
        with suppress(FileExistsError):
            parent.make(name)
    return parent.folder(name)


def stream_folder(stream: str) -> str:
    """The directory of a stream's segments; a hyphen keeps it apart from our own names."""
    return f"{stream}-stream" if stream in _RESERVED else stream


def file_name(generation: int) -> str:
    return f"{generation:0{_DIGITS}d}.json"


def path_of(store: Folder, segment: Segment) -> str:
    return f"{store.where(LAKE)}/{segment.path}"


def _create(folder: Folder, made: Manifest) -> None:
    """Link a synced file to the name, which fails where the name is taken."""
    name = file_name(made.generation)
    temporary = f"{name}.{ids.uid()}.tmp"
    fd = folder.create(temporary, encode(made))
    try:
        folder.files.sync(fd)
    finally:
        folder.files.close(fd)
    try:
        folder.link(temporary, name, to=folder)
    except FileExistsError:
        raise ManifestConflictError(
            f"{folder.where(name)} was published by another", generation=made.generation
        ) from None
    finally:
        folder.remove(temporary)
    folder.sync()


def _hinted(lake: Folder, folder: Folder) -> int:
    """The generation that the hint names, if it is there."""
    try:
        hinted = int(lake.read(LATEST))
    except (FileNotFoundError, ValueError):
        return 0
    return hinted if hinted > 0 and folder.stat(file_name(hinted)) is not None else 0


def _numbers(folder: Folder) -> list[int]:
    stems = [name[:-5] for name in folder.names() if name.endswith(".json")]
    return [int(stem) for stem in stems if len(stem) == _DIGITS and stem.isdecimal()]


def _values(segment: Segment) -> dict[str, Any]:
    return {
        "path": segment.path,
        "stream": segment.stream,
        "tier": segment.tier,
        "rows": segment.rows,
        "bytes": segment.bytes,
        "crc32": segment.crc32,
        "sha256": segment.sha256,
        "sessions": {uid: list(span) for uid, span in sorted(segment.sessions.items())},
    }


def _segment(values: dict[str, Any]) -> Segment:
    if not _PATH.fullmatch(values["path"]):
        raise ValueError(values["path"])
    sessions = {uid: Span(*span) for uid, span in values["sessions"].items()}
    return Segment(**values | {"sessions": sessions})


def _refuse_newer(found: Any, file: str) -> None:
    if isinstance(found, int) and found > FORMAT:
        raise NewerFormatError(
            f"{file} has format {found}; this version knows formats up to {FORMAT}",
            hint="upgrade varvite to read it",
            found=found,
            known=FORMAT,
        )
