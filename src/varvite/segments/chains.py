"""A session's journal part by part, as far as each one proves itself.

Reading stops at the first damage; here it does not: each part is judged alone, then
its link to the one before, so that all damage is found and all that is sound is kept.
"""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from varvite.disk import proof
from varvite.disk.files import Folder
from varvite.errors import CorruptError, NewerFormatError, VarviteError
from varvite.session import journal, opening, parts, state
from varvite.session.index import Applied
from varvite.session.journal import Block, Commit, Header, Position

_HEADER = re.compile(rb'\{"journal":\{.*"crc":(\d{1,10})\}\}\n')
_COMMIT = re.compile(rb'^\{"commit":\{.*"crc":(\d{1,10})\}\}\n', re.MULTILINE)


@dataclass(slots=True)
class Part:
    """A part as it lies there. `blocks` are those from its beginning on; `end` is behind them."""

    name: str
    first: int
    data: bytes
    header: Header | None = None
    blocks: list[Block] = field(default_factory=list)
    fault: VarviteError | None = None

    @property
    def end(self) -> Position | None:
        if self.header is None:
            return None
        return journal.position(self.blocks[-1]) if self.blocks else self.header.position

    @property
    def commits(self) -> Iterator[Commit]:
        return (block.commit for block in self.blocks)


def walk(session: Folder, uid: str, *, seen: int = 0) -> Iterator[Part]:
    """The parts in order, the active one last; one in memory at a time.

    `seen` is a seq that is known to have been committed: a journal that ends before
    it is damaged, not torn.

    Raises:
        NotASessionError: there is no active part.
    """
    data = parts.read_active(session)
    active = _judged(session.where(parts.ACTIVE), parts.ACTIVE, 0, data, whole=False)
    active = _own(session, active, uid)
    older = _older(session, active)
    before = active.header.first if active.header and not older else None
    previous: Part | None = None
    for sealed in parts.sealed(session, before=before):
        part = _own(session, _sealed(session, sealed), uid)
        _link(session, part, previous)
        yield part
        previous = part
    if previous is not None and (older or active.header is None):
        active.first = max((batch.commit.last for batch in sound_batches(previous)), default=0) + 1
    active.fault = active.fault or older
    _link(session, active, previous)
    end = active.end
    if active.fault is None and end is not None and end.seq < seen:
        active.fault = parts.damaged(session.where(parts.ACTIVE), end)
    yield active


def seen(session: Folder, uid: str, applied: Applied | None) -> int:
    """The seq that the closing writer's marker or a durable index proves to have been committed."""
    clean = state.Clean.read(session)
    marked = clean.position.seq if clean and clean.uid == uid else 0
    durable = applied is not None and applied.uid == uid and applied.level == "durable"
    return max(marked, applied.seq if applied and durable else 0)


def _own(session: Folder, part: Part, uid: str) -> Part:
    """The part, or where it is another session's, a damaged one with nothing in it."""
    if part.header is None or part.header.uid == uid:
        return part
    file = session.where(part.name)
    fault = CorruptError(f"{file} belongs to another session", file=file, offset=0, batch=0)
    return Part(part.name, part.first, b"", fault=fault)


def _older(session: Folder, active: Part) -> CorruptError | None:
    """Find fault with an active part that begins no later than a sealed one."""
    header, file = active.header, session.where(active.name)
    if header is None or parts.none_sealed(session, header):
        return None
    last = max((part.first for part in parts.sealed(session)), default=0)
    if last > header.first:
        what = f"{file} begins at seq {header.first}, a sealed part at seq {last}"
        return CorruptError(what, file=file, offset=0, batch=header.position.batch)
    try:
        opening.refuse_older(session, header, active.data)
    except CorruptError as error:
        return error
    return None


def _sealed(session: Folder, sealed: parts.Sealed) -> Part:
    name = f"{parts.SEALED}/{sealed.name}"
    try:
        data = parts.read_sealed(session, sealed)
    except VarviteError as error:
        return Part(name, sealed.first, b"", fault=error)
    return _judged(session.where(name), name, sealed.first, data, whole=True)


def _judged(file: str, name: str, first: int, data: bytes, *, whole: bool) -> Part:
    part = Part(name, first, data)
    try:
        part.header = journal.read_header(data, file)
        part.first = part.header.first
        part.blocks = list(journal.blocks(data, part.header.position))
        end = part.end
        if end is not None:
            if whole and end.offset != len(data):
                raise parts.damaged(file, end)
            parts.refuse_damage(data, file, end)
    except (CorruptError, NewerFormatError) as error:
        part.fault = error
    return part


def _link(session: Folder, part: Part, previous: Part | None) -> None:
    """Find fault with a part that does not go on from the one before."""
    header, file = part.header, session.where(part.name)
    if part.fault or header is None:
        return
    before = previous.end if previous else Position(0, 0, 0, 0, 0)
    if before is None:
        return
    found = (header.position.seq, header.position.batch, header.chain)
    if (before.seq, before.batch, before.crc) != found:
        part.fault = CorruptError(
            f"{file} begins at seq {header.first}, the part before ends at seq {before.seq}, "
            "or has another history",
            file=file,
            offset=0,
            batch=header.position.batch,
        )


def sound_batches(part: Part) -> Iterator[parts.Batch]:
    """Every batch of a part that its own crc proves, those beyond damage too, in order.

    A batch's crc is chained to the commit line before it, whose own crc is read even
    where that batch is damaged.
    """
    at, seed = 0, None
    head = _HEADER.match(part.data)
    if head is not None:
        at, seed = head.end(), int(head[1])
    for match in _COMMIT.finditer(part.data, at):
        commit = _proved(part.data, at, match, seed)
        if commit is not None:
            yield parts.Batch(commit, part.data[match.start() - commit.size : match.start()])
        at, seed = match.end(), int(match[1])


def _proved(data: bytes, at: int, match: re.Match[bytes], seed: int | None) -> Commit | None:
    parsed = proof.read_line(match[0])
    if parsed is None or seed is None:
        return None
    _, values, crc, covered = parsed
    places = [values.get(name) for name in ("size", "first", "batch", "epoch")]
    if not all(map(journal.is_count, places)):
        return None
    size, first, batch, epoch = map(int, places)  # type: ignore[arg-type]
    begin = match.start() - size
    if begin < at or zlib.crc32(memoryview(data)[begin : match.start() + covered], seed) != crc:
        return None
    after = Position(first - 1, batch - 1, seed, epoch, begin)
    found = next(journal.blocks(data[: match.end()], after), None)
    return found.commit if found else None
