"""Manifests and segments: bytes, pages, rows and spans; and what nobody lists."""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing

import pyarrow as pa
import pyarrow.compute as pc

from varvite.disk.files import Folder, is_folder
from varvite.errors import VarviteError
from varvite.segments import manifest as manifests
from varvite.segments import proving
from varvite.segments.findings import GC, REPAIR, Finding
from varvite.segments.manifest import DAMAGED, LAKE, MANIFESTS, Manifest, Segment, Span
from varvite.segments.regather import regather
from varvite.segments.writing import opened

Progress = Callable[[str, int, int], None]


def verify_manifests(store: Folder) -> tuple[list[Finding], Manifest]:
    """Every generation that is kept, and the newest one; an empty one where that is damaged."""
    found: list[Finding] = []
    newest = Manifest()
    for generation in manifests.generations(store):
        try:
            newest = manifests.load_generation(store, generation)
        except VarviteError as error:
            newest = Manifest()
            file = f"{store.where(LAKE)}/{MANIFESTS}/{manifests.file_name(generation)}"
            found.append(Finding(file, error.message, REPAIR, "corrupt", "manifest"))
        except FileNotFoundError:
            continue  # swept meanwhile
    return found, newest


def verify_lake(
    store: Folder,
    manifest: Manifest,
    names: Mapping[str, str],
    *,
    deep: bool,
    progress: Progress | None,
) -> list[Finding]:
    """The newest generation's segments, and files that no generation lists.

    `names` gives the directory of each uid in the store.
    """
    found = []
    for done, segment in enumerate(manifest.segments, 1):
        fault = fault_of(store, segment)
        if fault is None and deep:
            fault = _against_journal(store, manifest, segment, names)
        if fault:
            file = manifests.path_of(store, segment)
            found.append(Finding(file, fault, REPAIR, "corrupt", "segment"))
        if progress:
            progress("segments", done, len(manifest.segments))
    gone = manifest.sessions.keys() - names.keys()
    for uid in sorted(gone, key=lambda uid: manifest.sessions[uid].id):
        file = store.where(manifest.sessions[uid].id)
        what = "is missing, and segments hold rows of it"
        found.append(Finding(file, what, "put it back from a copy", "missing", "session"))
    return found + _orphans(store)


def fault_of(store: Folder, segment: Segment) -> str | None:
    """What is wrong with a segment; None where it is whole."""
    folder_name, name = segment.path.split("/")
    try:
        with store.folder(LAKE) as lake, lake.folder(folder_name) as folder:
            facts = _hashed(folder, name)
            if facts != (segment.bytes, segment.crc32, segment.sha256):
                return "its bytes are not those that the manifest names"
            return _rows(folder, name, segment)
    except FileNotFoundError:
        return "it is missing"
    except VarviteError as error:
        return error.message


def _hashed(folder: Folder, name: str) -> tuple[int, int, str]:
    size = crc = 0
    digest = hashlib.sha256()
    for piece in folder.pieces(name):
        digest.update(piece)
        crc = zlib.crc32(piece, crc)
        size += len(piece)
    return size, crc, digest.hexdigest()


def _rows(folder: Folder, name: str, segment: Segment) -> str | None:
    """Read every page; count and place the rows of each session."""
    spans: dict[str, Span] = {}
    with opened(folder, name) as file:
        for number in range(file.num_row_groups):
            table = file.read_row_group(number)
            if pc.any(pc.not_equal(table["stream"], proving.text(segment.stream))).as_py():
                return "it holds rows of another stream"
            _count(table, spans)
    return None if spans == dict(segment.sessions) else "its rows are not those of the manifest"


def _count(table: pa.Table, spans: dict[str, Span]) -> None:
    grouped = table.group_by("session_uid").aggregate(
        [("seq", "min"), ("seq", "max"), ("seq", "count")]
    )
    for row in grouped.to_pylist():
        known = spans.get(row["session_uid"], Span(row["seq_min"], row["seq_max"], 0))
        spans[row["session_uid"]] = Span(
            min(known.first, row["seq_min"]),
            max(known.last, row["seq_max"]),
            known.rows + row["seq_count"],
        )


def _against_journal(
    store: Folder, manifest: Manifest, segment: Segment, names: Mapping[str, str]
) -> str | None:
    """Compare every field of every row with the journals; sessions that are gone excepted."""
    try:
        gathering = regather(store, segment, manifest.ids(), names, every=1)
    except VarviteError as error:
        return f"it cannot be compared: {error.message}"
    with closing(gathering):
        gathered = gathering.streams.get(segment.stream)
        if gathered is None:
            return None
        folder_name, name = segment.path.split("/")
        with (
            store.folder(LAKE) as lake,
            lake.folder(folder_name) as folder,
            opened(folder, name) as file,
        ):
            table = file.read()
        kept = pc.is_in(table["session_uid"], value_set=proving.texts(sorted(names)))
        try:
            proving.prove(table.filter(kept), gathered)
        except VarviteError as error:
            return error.message
    return None


def _orphans(store: Folder) -> list[Finding]:
    listed: set[str] = set()
    for generation in manifests.generations(store):
        try:
            segments = manifests.load_generation(store, generation).segments
        except (VarviteError, FileNotFoundError):
            return []  # what a damaged manifest lists is nobody's to call an orphan
        listed |= {segment.path for segment in segments}
    if not is_folder(store.stat(LAKE)):
        return []
    with store.folder(LAKE) as lake:
        paths = [
            f"{folder_name}/{name}"
            for folder_name in lake.names()
            if folder_name != DAMAGED and is_folder(lake.stat(folder_name))
            for name in _parquet(lake, folder_name)
        ]
        return [
            Finding(lake.where(path), "no manifest lists it", GC, "orphan", "orphan")
            for path in paths
            if path not in listed
        ]


def _parquet(lake: Folder, folder_name: str) -> list[str]:
    with lake.folder(folder_name) as folder:
        return [name for name in folder.names() if name.endswith(".parquet")]
