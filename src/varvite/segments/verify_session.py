"""One session: its journal whole, and what was made from it against the journal."""

import zlib
from dataclasses import dataclass, field

from varvite.disk import proof
from varvite.disk.files import Folder
from varvite.errors import CorruptError, VarviteError
from varvite.segments.chains import Part, seen, walk
from varvite.segments.findings import REPAIR, Finding, derived
from varvite.segments.manifest import Manifest
from varvite.segments.verify_index import applied_to, differs
from varvite.session import journal, parts, state
from varvite.session.identity import Identity
from varvite.session.index import FOLDER as INDEX
from varvite.session.kind import Kind
from varvite.session.streams import by_stream


@dataclass(slots=True)
class _Stream:
    """A stream file's size before the walk, and what the journal says of its first bytes."""

    size: int
    expected: int = 0
    crc: int = 0
    crc_at_size: int | None = None

    def add(self, data: bytes) -> None:
        if self.expected == self.size:
            self.crc_at_size = self.crc
        self.crc = zlib.crc32(data, self.crc)
        self.expected += len(data)


@dataclass(slots=True)
class _Facts:
    """What the walk through the journal found. `chain`: batch and crc by last seq, if wanted."""

    streams: dict[str, _Stream]
    wanted: set[int]
    chain: dict[int, tuple[int, int]] = field(default_factory=dict)
    end: int = 0
    sound: bool = True


def verify_session(
    session: Folder,
    name: str,
    identity: Identity,
    manifest: Manifest,
    kind: Kind | None,
    *,
    deep: bool,
) -> list[Finding]:
    clean = state.Clean.read(session)
    closed = clean is not None and clean.fits(session, identity.uid)
    applied, found = applied_to(session, name)
    through = manifest.sessions.get(identity.uid)
    facts = _Facts(_sizes(session), {applied.seq if applied else 0})
    if through:
        facts.wanted.add(through.cursor)
    found += _journal(session, name, identity, facts, seen(session, identity.uid, applied))
    if not facts.sound:
        return found
    if through and facts.chain.get(through.cursor) != (through.batch, through.crc):
        what = f"has another history up to seq {through.cursor} than the segments"
        found.append(Finding(session.where(parts.ACTIVE), what, REPAIR, "foreign", "history", name))
    if applied and (
        applied.uid != identity.uid
        or (applied.seq and facts.chain.get(applied.seq) != (applied.batch, applied.crc))
    ):
        what = "was made from another session or history"
        found.append(derived(session.where(INDEX), what, "foreign", name))
    elif closed and (applied.seq if applied else 0) != facts.end:
        found.append(derived(session.where(INDEX), "is behind", "stale", name))
    found += _streams(session, name, facts, kind, closed=closed)
    found += _state(session, name)
    if deep and kind and applied and not found:
        found += differs(session, name, identity, kind)
    return found


def _sizes(session: Folder) -> dict[str, _Stream]:
    """Before the walk: a live writer makes files longer, never than the journal is by then."""
    names = [name for name in session.names() if name.endswith(".jsonl")]
    stats = {name[:-6]: session.stat(name) for name in names}
    return {stream: _Stream(seen.st_size) for stream, seen in stats.items() if seen}


def _journal(
    session: Folder, name: str, identity: Identity, facts: _Facts, upto: int
) -> list[Finding]:
    found = []
    try:
        for part in walk(session, identity.uid, seen=upto):
            if part.fault:
                facts.sound = False
                file = session.where(part.name)
                found.append(Finding(file, part.fault.message, REPAIR, "corrupt", "journal", name))
            if facts.sound:
                _take(part, facts)
    except VarviteError as error:
        facts.sound = False
        file = session.where(parts.ACTIVE)
        found.append(Finding(file, error.message, error.hint or REPAIR, "missing", "journal", name))
    return found


def _take(part: Part, facts: _Facts) -> None:
    for block in part.blocks:
        commit = block.commit
        if commit.last in facts.wanted:
            facts.chain[commit.last] = (commit.batch, commit.crc)
        facts.end = commit.last
        for stream, group in by_stream(journal.record_lines(part.data, block)).items():
            facts.streams.setdefault(stream, _Stream(-1)).add(b"".join(group))


def _streams(
    session: Folder, name: str, facts: _Facts, kind: Kind | None, *, closed: bool
) -> list[Finding]:
    found = []
    for stream, one in sorted(facts.streams.items()):
        file = f"{stream}.jsonl"
        if one.expected == one.size:
            one.crc_at_size = one.crc
        if one.size < 0:
            if kind and stream not in kind.private and closed:
                found.append(derived(session.where(file), "is missing", "missing", name))
        elif closed and one.size != one.expected:
            what = f"has {one.size} bytes, the journal says {one.expected}"
            found.append(derived(session.where(file), what, "stale", name))
        elif one.crc_at_size not in {None, _crc(session, file, one.size)}:
            what = "is not what the journal says"
            found.append(derived(session.where(file), what, "stale", name))
    return found


def _crc(session: Folder, file: str, size: int) -> int:
    crc = 0
    for piece in session.pieces(file, size):
        crc = zlib.crc32(piece, crc)
    return crc


def _state(session: Folder, name: str) -> list[Finding]:
    if session.stat(state.FILE) is None:
        return []
    try:
        proof.read_document(session.read(state.FILE), session.where(state.FILE))
    except CorruptError as error:
        return [derived(session.where(state.FILE), error.message, "corrupt", name)]
    return []
