"""Which sessions a question sees, how far into each, and the tables that say so."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import duckdb

from varvite import ids
from varvite.clock import format_utc
from varvite.disk.files import Folder
from varvite.errors import CorruptError, InputError, NotASessionError, SessionNotFoundError
from varvite.query import verdicts
from varvite.segments.ends import cut_short
from varvite.segments.manifest import Manifest, Segment
from varvite.session import identity as identities
from varvite.session import listing, parts
from varvite.session.identity import Identity
from varvite.session.reader import Reader

TABLES = {
    "sessions": {
        "session_id": "varchar",
        "session_uid": "varchar",
        "kind": "varchar",
        "title": "varchar",
        "created_at": "timestamptz",
        "cursor": "bigint",
    },
    "segments": {
        "path": "varchar",
        "stream": "varchar",
        "tier": "bigint",
        "rows": "bigint",
        "bytes": "bigint",
        "sessions": "bigint",
        "generation": "bigint",
    },
    verdicts.TABLE: verdicts.COLUMNS,
    "checkpoints": {
        "session_id": "varchar",
        "name": "varchar",
        "status": "varchar",
        "cursor": "bigint",
        "cursors": "varchar",
        "generation": "bigint",
        "parameters": "varchar",
        "engine": "varchar",
        "began_at": "timestamptz",
        "ended_at": "timestamptz",
        "rows_read": "bigint",
        "bytes_read": "bigint",
        "rows_written": "bigint",
        "seconds": "double",
        "peak_memory_bytes": "bigint",
        "results": "varchar",
        "proposes": "varchar",
        "path": "varchar",
    },
}


class Receipt(Protocol):
    """What an append or a submit returned."""

    @property
    def cursor(self) -> int: ...


AsOf = int | str | datetime | Mapping[str, int] | Receipt | None
"""A cursor of the one session asked, or a receipt of its; a UTC time; or a cursor a session."""


@dataclass(frozen=True, slots=True)
class SessionAt:
    """A session as the snapshot sees it.

    name: its directory's. compacted: through which seq segments hold it.
    """

    name: str
    identity: Identity
    cursor: int
    compacted: int


def sessions(store: Folder, manifest: Manifest, only: list[str] | None) -> list[SessionAt]:
    """The sessions of the store, or those named, each at its last committed batch.

    One that is deleted meanwhile is left out; one that cannot be read is not.

    Raises:
        SessionNotFoundError, NotASessionError, CorruptError, NewerFormatError
    """
    names = listing.names(store) if only is None else [*dict.fromkeys(map(ids.session_id, only))]
    found = []
    for name in names:
        try:
            with Reader(store, name) as reader:
                _refuse_deleted(reader, manifest)
                found.append(_at(name, reader, manifest.compacted(reader.identity.uid)))
        except SessionNotFoundError:
            if only is not None:
                raise
        except NotASessionError:
            if only is not None or name in listing.names(store):
                raise
    _refuse_copies(store, found)
    return found


def _refuse_deleted(reader: Reader, manifest: Manifest) -> None:
    """A session is gone once the manifest says so, though its directory may still lie there."""
    if reader.identity.uid in manifest.deleted:
        raise _gone(reader.identity.id)


def _gone(name: str) -> SessionNotFoundError:
    return SessionNotFoundError(
        f"session {name!r} was deleted", hint="`varvite sessions` lists all"
    )


@contextmanager
def reopened(store: Folder, one: SessionAt) -> Iterator[Folder]:
    """The directory of a session that was listed a moment ago.

    Raises:
        SessionNotFoundError: it was deleted since, even if another has its name.
    """
    with identities.open_folder(store, one.name) as folder:
        if identities.read(folder).uid != one.identity.uid:
            raise _gone(one.name)
        yield folder


def _refuse_copies(store: Folder, found: list[SessionAt]) -> None:
    """Rows belong to a uid: those of a copied directory would count twice."""
    names: dict[str, str] = {}
    for one in found:
        first = names.setdefault(one.identity.uid, one.name)
        if first != one.name:
            raise CorruptError(
                f"{one.name} is a copy of {first}: both have one uid",
                hint="keep one of the two in this store",
                file=store.where(one.name),
                offset=0,
            )


def _at(name: str, reader: Reader, compacted: int) -> SessionAt:
    """Where the session stands.

    Raises:
        CorruptError: segments hold what its journal does not.
    """
    if compacted > reader.cursor:
        file = reader.folder.where(parts.ACTIVE)
        raise CorruptError(
            f"{file} ends at seq {reader.cursor}, and segments hold seqs up to {compacted}",
            hint="the journal was cut or replaced: restore it, then run `varvite verify`",
            file=file,
            offset=0,
        )
    return SessionAt(name, reader.identity, reader.cursor, compacted)


def cutoffs(store: Folder, as_of: AsOf, found: list[SessionAt]) -> dict[str, int] | str | None:
    """`as_of` as a cursor a session uid, as a UTC time, or None for the newest.

    Reads one journal part a cursor, to see that it is one.

    Raises:
        InputError: a bare cursor for several sessions, a session that is not asked, or
            a seq that is no cursor: inside a batch, or not committed yet.
    """
    if as_of is None:
        return None
    if isinstance(as_of, datetime | str):
        return _time(as_of)
    pairs = as_of if isinstance(as_of, Mapping) else _pair(as_of, found)
    at = {one.name: one for one in found}
    cut = {one.identity.uid: one.cursor for one in found}
    for name, cursor in pairs.items():
        if name not in at:
            raise InputError(f"no session {name[:80]!r} among those asked")
        _check_cursor(store, at[name], cursor)
        cut[at[name].identity.uid] = cursor
    return cut


def _time(moment: datetime | str) -> str:
    """The moment in UTC, which it is taken for where it names no zone."""
    try:
        read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
        return format_utc(read if read.tzinfo else read.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise InputError(
            f"{str(moment)[:80]!r} is no time", hint="ISO 8601, as 2026-01-31T12:00Z"
        ) from None


def _pair(as_of: int | Receipt, found: list[SessionAt]) -> dict[str, int]:
    cursor = as_of if isinstance(as_of, int) else as_of.cursor
    if len(found) != 1:
        raise InputError(
            f"cursor {cursor} of which of {len(found)} sessions?",
            hint="name one session, or give SESSION=CURSOR pairs",
        )
    return {found[0].name: cursor}


def _check_cursor(store: Folder, one: SessionAt, cursor: int) -> None:
    name = one.name
    if not 0 <= cursor <= one.cursor:
        raise InputError(
            f"{name} has no cursor {cursor}", hint=f"its cursors go from 0 to {one.cursor}"
        )
    if cursor == one.cursor:
        return
    with reopened(store, one) as session:
        beyond = next(iter(parts.batches(session, cursor)), None)
        if beyond is None:
            raise cut_short(session)
        inside = beyond.commit
    if inside.first <= cursor:
        raise InputError(
            f"{name} has no cursor {cursor}: a batch goes from {inside.first} to {inside.last}",
            hint=f"{inside.first - 1} is before that batch, {inside.last} is after it",
        )


def session_row(one: SessionAt, cursor: int) -> tuple[Any, ...]:
    identity = one.identity
    return (identity.id, identity.uid, identity.kind, identity.title, identity.created, cursor)


def segment_row(one: Segment, generation: int) -> tuple[Any, ...]:
    return (one.path, one.stream, one.tier, one.rows, one.bytes, len(one.sessions), generation)


def make(con: duckdb.DuckDBPyConnection, table: str, rows: list[tuple[Any, ...]]) -> None:
    """Make `catalog.<table>`. One insert: row by row costs a millisecond each."""
    columns = TABLES[table]
    named = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    con.execute(f"create table catalog.{table} ({named})")
    if rows:
        lists = ", ".join(f"unnest(?::{kind}[])" for kind in columns.values())
        values = [list(column) for column in zip(*rows, strict=True)]
        con.execute(f"insert into catalog.{table} select {lists}", values)
