"""How a writer gets hold of a session: lock, look, recover, catch up.

Reads one header and the CLEAN marker where the last writer closed; otherwise the
active part, which sealing keeps at 8 MiB. History is never read: what would need
it is refused, with the verb that does it.
"""

from dataclasses import dataclass

from varvite.disk.files import Folder, is_folder, let_go, read_all, storing
from varvite.disk.lock import Lock, boot_id
from varvite.errors import CorruptError, ForeignIndexError, StaleIndexError
from varvite.session import index as indexes
from varvite.session import journal, parts, projecting, recovery
from varvite.session.identity import Identity
from varvite.session.index import Applied, Index
from varvite.session.journal import Block, Header, Position
from varvite.session.kind import Kind
from varvite.session.recovery import Recovered
from varvite.session.state import Clean
from varvite.session.streams import Streams, by_stream

NEXT = f"{parts.ACTIVE}.next"


@dataclass(slots=True)
class Active:
    """The active part, open for appending, as far as it is committed."""

    fd: int
    inode: int
    header: Header
    position: Position
    recovered: Recovered | None


def active_part(
    folder: Folder, identity: Identity, streams_private: frozenset[str], *, seen: int
) -> tuple[Active, Streams, bytes | None]:
    """The active part and its stream files; its bytes too where they had to be read.

    Raises:
        CorruptError, StorageError
    """
    fd = parts.open_active(folder)
    try:
        header = parts.read_header(folder, fd)
        journal.refuse_newer(header.format, folder.where(parts.ACTIVE))
        refuse_foreign(folder, header, identity)
        refuse_older(folder, header, fd)
        clean = Clean.read(folder)
        data = None
        if clean and clean.part_first == header.first and clean.fits(folder, identity.uid):
            streams = Streams(folder, streams_private, clean.streams)
            streams.find_stale()
            position, recovered = clean.position, None
        else:
            if clean and clean.uid == identity.uid:
                seen = max(seen, clean.position.seq)
            data = read_all(folder.files, fd)
            position, recovered, streams = _unclean(folder, data, header, streams_private, seen)
            data = data[: position.offset]
    finally:
        let_go(folder.files, fd)
    try:
        fd = folder.open_append(parts.ACTIVE)
        inode = _inode(folder, fd)
    except BaseException:
        streams.close()
        raise
    return Active(fd, inode, header, position, recovered), streams, data


def _inode(folder: Folder, fd: int) -> int:
    try:
        return folder.files.fstat(fd).st_ino
    except BaseException:
        folder.files.close(fd)
        raise


def refuse_older(folder: Folder, header: Header, active: int | bytes) -> None:
    """Refuse an active part that is an older copy of one that was sealed.

    A seal that was cut short leaves the same name; what it names is the active part itself.

    Raises:
        CorruptError
    """
    name = parts.sealed_name(header.first)
    if parts.none_sealed(folder, header):
        return
    with parts.sealed_folder(folder) as inside:
        packed = inside.stat(f"{name}.zst") is not None
        if not packed and inside.stat(name) is None:
            return
        data = b"" if packed else inside.read(name)
        whole = active if isinstance(active, bytes) else read_all(folder.files, active)
        if not packed and _goes_on(data, whole, inside.where(name)):
            return
    file = folder.where(parts.ACTIVE)
    raise CorruptError(
        f"{file} is older than {parts.SEALED}/{name}, which it became",
        hint="put the newer file back; `varvite repair --dry-run` shows what can be kept",
        file=file,
        offset=0,
        batch=header.position.batch + 1,
    )


def _goes_on(sealed: bytes, active: bytes, file: str) -> bool:
    header = journal.read_header(sealed, file)
    end = recovery.end(list(journal.blocks(sealed, header.position)), header).offset
    return sealed[:end] == active[:end]


def refuse_foreign(folder: Folder, header: Header, identity: Identity) -> None:
    if header.uid != identity.uid:
        file = folder.where(parts.ACTIVE)
        raise CorruptError(f"{file} belongs to another session", file=file, offset=0, batch=0)


def _unclean(
    folder: Folder, data: bytes, header: Header, private: frozenset[str], seen: int
) -> tuple[Position, Recovered | None, Streams]:
    blocks = recovery.scan(data, header, folder.where(parts.ACTIVE), seen=seen)
    position = recovery.end(blocks, header)
    recovered = recovery.settle(folder, data, header, position)
    streams = Streams(folder, private, header.streams)
    try:
        rewrite_streams(streams, data, blocks)
    except BaseException:
        streams.close()
        raise
    return position, recovered, streams


def rewrite_streams(streams: Streams, data: bytes, blocks: list[Block]) -> None:
    """Bring the stream files from the part's beginning to its end."""
    lines = [line for block in blocks for line in journal.record_lines(data, block)]
    groups = by_stream(lines)
    with storing("recovering stream files"):
        streams.cut_back(groups)
    streams.append(groups)
    streams.count(groups)


def sweep(folder: Folder, header: Header) -> None:
    """Remove what a writer that was cut short left half made. After `refuse_older` only."""
    for name in folder.names():
        if is_folder(folder.stat(name)) and name.endswith(".tmp"):
            indexes.remove(folder, name)
        elif name.endswith(".tmp") or name == NEXT:
            folder.remove(name)
    if not parts.none_sealed(folder, header):
        with parts.sealed_folder(folder) as sealed:
            sealed.remove(parts.sealed_name(header.first))


def seen_by(applied: Applied | None, identity: Identity, lock: Lock) -> int:
    """The seq that the index proves to have been committed.

    Without a sync before it (group, fast) an index may outlive its journal, but
    only over a restart of the machine.
    """
    if applied is None or applied.uid != identity.uid:
        return 0
    same_boot = lock.previous_boot == boot_id() != ""
    return applied.seq if same_boot or applied.level == "durable" else 0


def catch_up(
    index: Index, identity: Identity, kind: Kind, active: Active, data: bytes | None, folder: Folder
) -> None:
    """Replay onto the index what the active part has beyond it.

    Raises:
        StaleIndexError: it would take sealed parts.
        ForeignIndexError: another session's, or another history's.
    """
    applied = index.applied()
    header = active.header
    end = active.position
    if end.seq == header.position.seq:
        end = end._replace(crc=header.chain)
    indexes.check(applied, identity.uid, end, index.path)
    at = applied.seq if applied else 0
    if at == active.position.seq:
        return
    if at < active.header.position.seq or at > active.position.seq:
        raise StaleIndexError(
            f"{index.path} is at seq {at}, the journal's active part goes from "
            f"{active.header.first} to {active.position.seq}",
            seq=at,
        )
    if data is None:
        data = read_all(folder.files, active.fd)
    _replay(index, identity, kind, active.header, data, applied)


def _replay(
    index: Index,
    identity: Identity,
    kind: Kind,
    header: Header,
    data: bytes,
    applied: Applied | None,
) -> None:
    at, batch, crc = header.position.seq, header.position.batch, header.chain
    missing = applied
    for block in journal.blocks(data, header.position):
        if applied and (applied.seq, applied.batch, applied.crc) == (at, batch, crc):
            missing = None
        at, batch, crc = block.commit.last, block.commit.batch, block.commit.crc
        if applied is None or at > applied.seq:
            if missing:
                raise ForeignIndexError(f"{index.path} is of another history", file=index.path)
            lines = journal.record_lines(data, block)
            made = projecting.replayed(block.commit, lines, kind.fold, index)
            index.apply(made, projecting.applied(identity.uid, block.commit))
