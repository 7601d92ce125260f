"""Which sessions a question sees, and how far into each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from varvite import ids
from varvite.clock import format_utc
from varvite.disk.files import Folder
from varvite.errors import InputError, NotASessionError, SessionNotFoundError
from varvite.segments.manifest import Manifest
from varvite.session import listing
from varvite.session.identity import Identity
from varvite.session.reader import Reader

AsOf = int | str | datetime | Mapping[str, int] | None
"""A cursor of the one session asked, a UTC time, or a cursor a session."""


@dataclass(frozen=True, slots=True)
class SessionAt:
    """A session as the snapshot sees it. `compacted`: through which seq segments hold it."""

    identity: Identity
    cursor: int
    compacted: int


def sessions(store: Folder, manifest: Manifest, only: list[str] | None) -> list[SessionAt]:
    """The sessions of the store, or those named, each at its last committed batch.

    Raises:
        SessionNotFoundError, CorruptError, NewerFormatError
    """
    names = listing.names(store) if only is None else [ids.session_id(name) for name in only]
    found = []
    for name in names:
        try:
            with Reader(store, name) as reader:
                compacted = manifest.compacted(reader.identity.uid)
                found.append(SessionAt(reader.identity, reader.cursor, compacted))
        except (NotASessionError, SessionNotFoundError):
            if only is not None:
                raise
    return found


def cutoffs(as_of: AsOf, found: list[SessionAt]) -> dict[str, int] | str | None:
    """`as_of` as a seq a session uid, as a UTC time, or None for the newest.

    Raises:
        InputError: a bare cursor for several sessions, or a session that is not asked.
    """
    if as_of is None:
        return None
    if isinstance(as_of, datetime):
        return format_utc(as_of)
    if isinstance(as_of, str):
        return _time(as_of)
    if isinstance(as_of, int):
        if len(found) != 1:
            raise InputError(
                f"cursor {as_of} of which of {len(found)} sessions?",
                hint="name one session, or give SESSION=CURSOR pairs",
            )
        return {found[0].identity.uid: as_of}
    return _by_name(as_of, found)


def _time(text: str) -> str:
    try:
        return format_utc(datetime.fromisoformat(text))
    except ValueError:
        raise InputError(
            f"{text[:80]!r} is no time", hint="ISO 8601, as 2026-01-31T12:00Z"
        ) from None


def _by_name(pairs: Mapping[str, int], found: list[SessionAt]) -> dict[str, int]:
    uids = {one.identity.id: one.identity.uid for one in found}
    for name in pairs:
        if name not in uids:
            raise InputError(f"no session {name[:80]!r} among those asked")
    cut = {one.identity.uid: one.cursor for one in found}
    return cut | {uids[name]: cursor for name, cursor in pairs.items()}


def row(one: SessionAt, cursor: int) -> tuple[Any, ...]:
    identity = one.identity
    return (identity.id, identity.uid, identity.kind, identity.title, identity.created, cursor)
