"""Where the journal lies: the active part, and the sealed ones in order."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from varvite.disk.files import ABSENT, Folder, let_go, read_all, storing
from varvite.errors import CorruptError, NotASessionError
from varvite.session import journal
from varvite.session.journal import Commit, Header, Position

ACTIVE = "events.ndjson"
SEALED = "journal"
PART_BYTES_MAX = 64 << 20
HEADER_BYTES = 2 << 10
LOST = "put it back from a copy, or move the session's folder out of the store"
"""What to do where the active part is gone: nothing else has all of it."""
_CONFLICT = b"<<<<<<< "
_NAME = re.compile(r"(\d{12})\.ndjson(\.zst)?")


class Batch(NamedTuple):
    """A committed batch with its record lines, as they stand."""

    commit: Commit
    body: bytes

    def lines(self) -> list[bytes]:
        return self.body.split(b"\n")[:-1]


class Sealed(NamedTuple):
    first: int
    name: str


def sealed_name(first: int) -> str:
    return f"{first:012d}.ndjson"


def sealed(session: Folder, before: int | None = None) -> list[Sealed]:
    """The sealed parts in order, those that begin before seq `before` alone.

    Where a part lies there plain and compressed, the plain one is named. None can
    begin before seq 1, so the folder need not be there: git does not keep an empty one.
    """
    if before == 1:
        return []
    with sealed_folder(session) as folder:
        matches = [match for name in folder.names() if (match := _NAME.fullmatch(name))]
    found = {int(match[1]): match[0] for match in reversed(matches)}
    return [
        Sealed(first, found[first]) for first in sorted(found) if before is None or first < before
    ]


def read_sealed(session: Folder, part: Sealed) -> bytes:
    """The bytes of a sealed part, decompressed; it may be compressed meanwhile."""
    plain = sealed_name(part.first)
    with sealed_folder(session) as folder, storing(f"reading {folder.where(plain)}"):
        try:
            return folder.read(plain)
        except FileNotFoundError:
            packed = folder.where(f"{plain}.zst")
        try:
            return decompress(folder.read(f"{plain}.zst"), packed)
        except FileNotFoundError:
            raise CorruptError(f"{packed} is missing", file=packed, offset=0) from None


def none_sealed(session: Folder, active: Header) -> bool:
    """Whether the active part is the first, and git or a copy left out the empty folder."""
    return active.first == 1 and session.stat(SEALED) is None


def sealed_folder(session: Folder) -> Folder:
    """The folder of the sealed parts.

    Raises:
        CorruptError: there is none.
    """
    where = session.where(SEALED)
    with storing(f"opening {where}"):
        try:
            return session.folder(SEALED)
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            raise CorruptError(f"{where} is missing", file=where, offset=0) from None


def decompress(data: bytes, file: str) -> bytes:
    """The content of a compressed part, at most PART_BYTES_MAX bytes.

    Raises:
        CorruptError
    """
    import zstandard

    try:
        reader = zstandard.ZstdDecompressor().stream_reader(data)
        plain = reader.read(PART_BYTES_MAX + 1)
    except zstandard.ZstdError as error:
        raise CorruptError(f"{file}: {error}", file=file, offset=0) from None
    if len(plain) > PART_BYTES_MAX:
        raise CorruptError(f"{file} holds more than a part can", file=file, offset=0)
    return plain


def open_active(session: Folder) -> int:
    with _active_is_a_file(session):
        return session.open(ACTIVE)


@contextmanager
def _active_is_a_file(session: Folder) -> Iterator[None]:
    where = session.where(ACTIVE)
    with storing(f"reading {where}"):
        try:
            yield
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            raise NotASessionError(
                f"{where} is missing, or no file",
                hint=LOST,
                file=where,
            ) from None


def read_header(session: Folder, fd: int) -> Header:
    """The header of the active part. One small read, two where it names many streams."""
    with _active_is_a_file(session):
        head = session.files.pread(fd, HEADER_BYTES, 0)
        if b"\n" not in head:
            head += session.files.pread(fd, journal.LINE_BYTES_MAX, len(head))
    return journal.read_header(head, session.where(ACTIVE))


def batches(
    session: Folder, after: int = 0, *, known: tuple[int, int] | None = None
) -> Generator[Batch, None, None]:
    """The committed batches beyond seq `after`, in order; one part in memory at a time.

    Takes no lock: the active part is opened before the sealed ones are listed,
    so a part sealed meanwhile is neither missed nor read twice.

    `known` is the batch and the crc of the commit that ended at `after`.

    Raises:
        CorruptError: a missing part, a broken chain, bytes that are no batch, or
            another history than the `known` one.
    """
    fd = open_active(session)
    try:
        header = read_header(session, fd)
        wanted = _wanted(sealed(session, before=header.first), header, after)
        previous: Position | None = None
        for part in wanted:
            data = read_sealed(session, part)
            file = session.where(f"{SEALED}/{part.name}")
            previous = yield from _part(data, file, previous, after, known, whole=True)
        with storing(f"reading {session.where(ACTIVE)}"):
            data = read_all(session.files, fd)
        yield from _part(data, session.where(ACTIVE), previous, after, known, whole=False)
    finally:
        let_go(session.files, fd)


def _wanted(found: list[Sealed], header: Header, after: int) -> list[Sealed]:
    """The sealed parts that may hold seqs beyond `after`."""
    if header.position.seq <= after:
        return []
    begins = [part.first for part in found if part.first <= after + 1]
    return [part for part in found if begins and part.first >= begins[-1]] or found


def _part(
    data: bytes,
    file: str,
    previous: Position | None,
    after: int,
    known: tuple[int, int] | None,
    *,
    whole: bool,
) -> Generator[Batch, None, Position]:
    header = journal.read_header(data, file)
    at = header.position
    if previous and (previous.seq, previous.batch, previous.crc) != (
        at.seq,
        at.batch,
        header.chain,
    ):
        raise CorruptError(
            f"{file} does not go on from seq {previous.seq}: a part is missing or changed",
            file=file,
            offset=0,
            batch=previous.batch + 1,
        )
    if previous is None and at.seq > after:
        raise CorruptError(
            f"{file} begins at seq {at.seq + 1}: the part from seq {after + 1} on is missing",
            file=file,
            offset=0,
            batch=at.batch,
        )
    _refuse_other(known, after, range(at.seq, at.seq + 1), (at.batch, header.chain), file)
    for block in journal.blocks(data, at):
        commit = block.commit
        seqs = range(commit.first, commit.last + 1)
        _refuse_other(known, after, seqs, (commit.batch, commit.crc), file)
        if commit.last > after:
            yield Batch(block.commit, data[block.begin : block.middle])
        at = journal.position(block)
    if whole and at.offset != len(data):
        raise damaged(file, at)
    refuse_damage(data, file, at)
    return at


def refuse_damage(data: bytes, file: str, at: Position, *, base: int = 0) -> None:
    """Take what follows `at` for a batch being written or torn, unless it proves to be damage.

    `base` is where `data` begins in the file.

    Raises:
        CorruptError
    """
    place = at._replace(offset=base + at.offset)
    if data.startswith(_CONFLICT, at.offset):
        raise CorruptError(
            f"{file}, byte {place.offset}, after seq {at.seq}: git conflict markers",
            hint="take one side whole: git checkout --ours (or --theirs)",
            file=file,
            offset=place.offset,
            batch=at.batch + 1,
        )
    if len(data) > at.offset and journal.later_commit(data, at) is not None:
        raise damaged(file, place)


def _refuse_other(
    known: tuple[int, int] | None, after: int, seqs: range, found: tuple[int, int], file: str
) -> None:
    if known and after in seqs and (after != seqs[-1] or found != known):
        raise CorruptError(
            f"{file} has another history up to seq {after} than the one that was read before",
            hint="`varvite verify` says what was made from the other one",
            file=file,
            offset=0,
            batch=found[0],
        )


def damaged(file: str, after: Position) -> CorruptError:
    where = f"{file}, byte {after.offset}"
    return CorruptError(
        f"{where}: batch {after.batch + 1}, from seq {after.seq + 1}, is damaged",
        hint="`varvite repair --dry-run` shows what can be kept",
        file=file,
        offset=after.offset,
        batch=after.batch + 1,
    )


def read_active(session: Folder) -> bytes:
    """All bytes of the active part, committed or not."""
    fd = open_active(session)
    try:
        with storing(f"reading {session.where(ACTIVE)}"):
            return read_all(session.files, fd)
    finally:
        let_go(session.files, fd)
