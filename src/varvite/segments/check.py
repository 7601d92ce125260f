"""See that segments are what the manifest says before their rows are returned.

A segment is read whole once and then trusted as long as its path, size, mtime and
inode stay the same. What was verified is remembered in the user's cache folder;
where that cannot be written, the next process reads the segments again.
"""

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b

from varvite.disk.files import Files, Folder
from varvite.errors import CorruptError
from varvite.segments.manifest import LAKE, Segment

REMEMBERED_MAX = 20_000
_KEY_BYTES = 16


def verified(store: Folder, segments: Iterable[Segment]) -> None:
    """Verify the segments that were not verified before. Needs no write permission.

    Raises:
        CorruptError: the first that is missing or changed, .file
    """
    known = _read(store)
    fresh = []
    for segment in segments:
        key = _key(store, segment)
        if key not in known:
            verify(store, segment)
            fresh.append(key)
    _remember(store, fresh, len(known))


def verify(store: Folder, segment: Segment) -> None:
    """Read a segment whole and hold its size and CRC32 against the manifest.

    Raises:
        CorruptError
    """
    folder_name, name = segment.path.split("/")
    file = f"{store.where(LAKE)}/{segment.path}"
    try:
        with store.folder(LAKE) as lake, lake.folder(folder_name) as folder:
            size, crc = size_and_crc(folder, name)
    except OSError as error:
        raise damaged(file, os.strerror(error.errno or 0)) from None
    if (size, crc) != (segment.bytes, segment.crc32):
        raise damaged(file, "its bytes are not those that the manifest names")


def damaged(file: str, what: str) -> CorruptError:
    return CorruptError(
        f"{file} is damaged: {what}",
        hint="`varvite repair` makes it anew from the journal",
        file=file,
        offset=0,
    )


def size_and_crc(folder: Folder, name: str) -> tuple[int, int]:
    """Of a whole file, read in pieces."""
    size = crc = 0
    for piece in folder.pieces(name):
        crc = zlib.crc32(piece, crc)
        size += len(piece)
    return size, crc


def _key(store: Folder, segment: Segment) -> bytes:
    file = f"{store.where(LAKE)}/{segment.path}"
    try:
        seen = os.stat(file, follow_symlinks=False)
    except OSError as error:
        raise damaged(file, os.strerror(error.errno or 0)) from None
    facts = (os.path.realpath(store.path), segment.path, segment.crc32)
    place = (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return blake2b(repr(facts + place).encode(), digest_size=_KEY_BYTES).digest()


def _cache_path() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "varvite")


def _cache_name(store: Folder) -> str:
    name = blake2b(os.path.realpath(store.path).encode(), digest_size=_KEY_BYTES).hexdigest()
    return f"verified-{name}"


def _read(store: Folder) -> set[bytes]:
    try:
        with Folder(Files(), _cache_path()) as cache:
            data = cache.read(_cache_name(store))
    except OSError:
        return set()
    return {data[at : at + _KEY_BYTES] for at in range(0, len(data), _KEY_BYTES)}


def _remember(store: Folder, keys: list[bytes], known: int) -> None:
    """Append the keys in one write; begin anew where there are too many."""
    if not keys:
        return
    name = _cache_name(store)
    with suppress(OSError):
        os.makedirs(_cache_path(), mode=0o700, exist_ok=True)
        with Folder(files := Files(), _cache_path()) as cache:
            if known + len(keys) > REMEMBERED_MAX:
                cache.remove(name)
            fd = cache.create(name) if cache.stat(name) is None else cache.open_append(name)
            try:
                files.write(fd, b"".join(keys))
            finally:
                files.close(fd)
