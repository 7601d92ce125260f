"""What a writer does with an active part that nobody closed.

Everything here can be cut short and done again: the bytes that are cut off go to
quarantine first, the part is replaced by a copy that is synced before it is named.
"""

import zlib
from dataclasses import dataclass

from varvite.disk.files import Folder, storing
from varvite.errors import CorruptError
from varvite.session import journal
from varvite.session.journal import Block, Header, Position
from varvite.session.parts import ACTIVE, refuse_damage

QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class Recovered:
    """What opening cut off the journal's end: never an acknowledged batch."""

    file: str
    offset: int
    bytes_cut: int
    quarantined: str
    next_seq: int


def scan(data: bytes, header: Header, file: str, *, seen: int) -> list[Block]:
    """The batches of the active part; what follows them is a torn end.

    `seen` is a seq that is known to have been committed.

    Raises:
        CorruptError: what follows is damage: a commit beyond it proves that, or
            the part ends before `seen`.
    """
    found = list(journal.blocks(data, header.position))
    at = end(found, header)
    refuse_damage(data, file, at)
    if at.seq < seen:
        raise CorruptError(
            f"{file} ends at seq {at.seq}, but seq {seen} was committed",
            hint="`varvite repair --dry-run` shows what can be kept",
            file=file,
            offset=at.offset,
            batch=at.batch + 1,
        )
    return found


def end(found: list[Block], header: Header) -> Position:
    return journal.position(found[-1]) if found else header.position


def settle(folder: Folder, data: bytes, header: Header, at: Position) -> Recovered | None:
    """Quarantine what follows `at` and put a synced copy of the rest in its place.

    The copy is needed even where nothing is torn: after a failed sync the page
    cache holds what the disk does not, and only new bytes are sure to be written.
    """
    torn = data[at.offset :]
    with storing(f"recovering {folder.where(ACTIVE)}"):
        kept = quarantine(folder, torn, f"{header.first:012d}-{at.offset}") if torn else ""
        folder.replace(ACTIVE, data[: at.offset], sync=True)
    if not torn:
        return None
    return Recovered(folder.where(ACTIVE), at.offset, len(torn), kept, at.seq + 1)


def quarantine(folder: Folder, data: bytes, label: str) -> str:
    """Keep bytes that leave their place; the same bytes get the same name. Their path."""
    if folder.stat(QUARANTINE) is None:
        folder.make(QUARANTINE)
    name = f"{label}-{zlib.crc32(data):08x}.bin"
    with folder.folder(QUARANTINE) as inside:
        inside.replace(name, data, sync=True)
    return folder.where(f"{QUARANTINE}/{name}")
