"""Sealed journal parts whose rows are all in segments are kept compressed.

The plain part goes only after the compressed one was synced, read back and compared.
"""

import zstandard

from varvite.disk.files import Folder, storing
from varvite.errors import CorruptError
from varvite.session import parts

LEVEL = 3


def archive(session: Folder, compacted: int) -> int:
    """Compress the sealed parts that end at or before seq `compacted`; how many.

    A crash leaves the plain part, or both with the same content.
    """
    done = 0
    for part in finished(session, compacted):
        with session.folder(parts.SEALED) as folder, storing(f"archiving {folder.path}"):
            _archive(folder, parts.sealed_name(part.first))
            done += 1
    return done


def finished(session: Folder, compacted: int) -> list[parts.Sealed]:
    """The plain sealed parts that are wholly compacted."""
    fd = parts.open_active(session)
    try:
        active = parts.read_header(session, fd).first
    finally:
        session.files.close(fd)
    found = parts.sealed(session, before=active)
    next_firsts = [part.first for part in found[1:]] + [active]
    return [
        part
        for part, next_first in zip(found, next_firsts, strict=False)
        if next_first <= compacted + 1 and part.name == parts.sealed_name(part.first)
    ]


def _archive(folder: Folder, plain: str) -> None:
    data = folder.read(plain)
    name, temporary = f"{plain}.zst", f"{plain}.zst.tmp"
    folder.remove(temporary)
    packed = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(data)
    fd = folder.create(temporary, packed)
    try:
        folder.files.sync(fd)
    finally:
        folder.files.close(fd)
    if parts.decompress(folder.read(temporary), folder.where(temporary)) != data:
        raise CorruptError(
            f"{folder.where(temporary)} does not read back the same",
            file=folder.where(temporary),
            offset=0,
        )
    folder.rename(temporary, name)
    folder.sync()
    folder.remove(plain)
    folder.sync()
