"""Where the journals of a store end, and their batches beyond what segments hold."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from varvite.disk.files import Folder, storing
from varvite.errors import CorruptError, VarviteError
from varvite.segments.manifest import Through
from varvite.segments.plan import End
from varvite.session import identity as identities
from varvite.session import journal, listing, parts
from varvite.session.parts import Batch
from varvite.session.reader import Reader


@dataclass(slots=True)
class Ends:
    """Each session's end by uid, its directory by uid, and what kept others from being read."""

    by_uid: dict[str, End] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    faults: list[VarviteError] = field(default_factory=list)


def ends(store: Folder) -> Ends:
    """The last committed batch of every session. Reads a few KB a session."""
    found = Ends()
    for name in listing.names(store):
        try:
            with Reader(store, name) as reader:
                _take(found, name, reader)
        except VarviteError as error:
            found.faults.append(error)
    return found


def _take(found: Ends, name: str, reader: Reader) -> None:
    identity = reader.identity
    if identity.uid in found.by_uid:
        file = reader.folder.where(identities.FILE)
        raise CorruptError(
            f"{name} is a copy of {found.names[identity.uid]}: both have one uid",
            hint="keep one of the two in this store",
            file=file,
            offset=0,
        )
    found.by_uid[identity.uid] = End(identity.id, identity.kind, reader.cursor)
    found.names[identity.uid] = name


def harden(session: Folder) -> None:
    """Sync the active part, so that no segment outlives the batches it was made from.

    A batch may be read before its own sync, or have none (levels group and fast).
    """
    with storing(f"syncing {session.where(parts.ACTIVE)}"):
        fd = parts.open_active(session)
        try:
            session.files.sync_data(fd)
        finally:
            session.files.close(fd)


def batches_between(session: Folder, through: Through | None, upto: int) -> Iterator[Batch]:
    """The batches beyond what segments hold, proved to go on from there, until seq `upto`.

    Raises:
        CorruptError: a damaged batch, or a journal with another history than the segments.
    """
    at = through.cursor if through else 0
    known = (through.batch, through.crc) if through else None
    for batch in parts.batches(session, at, known=known):
        yield batch
        if batch.commit.last >= upto:
            return
    raise cut_short(session)


def cut_short(session: Folder) -> CorruptError:
    """The damage at which the active part ends, though batches beyond it were committed."""
    data, file = parts.read_active(session), session.where(parts.ACTIVE)
    at = journal.read_header(data, file).position
    for block in journal.blocks(data, at):
        at = journal.position(block)
    return parts.damaged(file, at)
