"""Take a session out of every view at once; `gc` takes its bytes after the grace period."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from varvite.clock import now
from varvite.disk.files import Folder, storing
from varvite.disk.lock import Lock
from varvite.errors import VarviteError
from varvite.segments.manifest import Gone, Manifest, ensured
from varvite.segments.publishing import publish
from varvite.session import identity as identities
from varvite.session import listing
from varvite.session.identity import Identity
from varvite.session.reader import Reader

TRASH = "_trash"


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deletion done, or foreseen. `records` is the session's cursor, `trash` where it lies."""

    session: str
    uid: str
    records: int
    generation: int
    trash: str
    dry_run: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def delete(store: Folder, session_id: str, *, dry_run: bool = False) -> Deleted:
    """Delete a session. Takes its writer lock, not that of `_lake`.

    The manifest says so first: a crash in between leaves a session that no view
    shows, and deleting it again ends it.

    Raises:
        SessionNotFoundError, NotASessionError, SessionLockedError, StorageError
    """
    with Reader(store, session_id) as reader:
        identity, records = reader.identity, reader.cursor
    trash = f"{now().replace(':', '')}-{session_id}-{identity.uid}"
    generation = 0
    if not dry_run:
        generation = _act(store, session_id, identity, trash)
    where = f"{store.where(TRASH)}/{trash}"
    return Deleted(session_id, identity.uid, records, generation, where, dry_run)


def _act(store: Folder, session_id: str, identity: Identity, trash: str) -> int:
    with identities.open_folder(store, session_id) as session:
        lock = Lock.acquire(session, what=session_id)
        try:
            generation = 0
            if not _has_copy(store, session_id, identity.uid):
                generation = publish(store, lambda base: without(base, identity)).generation
            with storing(f"deleting {session.path}"), ensured(store, TRASH) as folder:
                store.rename(session_id, trash, to=folder)
                folder.sync()
                store.sync()
        finally:
            lock.release()
    return generation


def without(base: Manifest, identity: Identity) -> Manifest:
    """The manifest with the session gone; its rows stay in their files until they are merged."""
    kept = {uid: one for uid, one in base.sessions.items() if uid != identity.uid}
    gone = {identity.uid: Gone(identity.id, now())}
    return replace(base, sessions=kept, deleted={**base.deleted, **gone})


def _has_copy(store: Folder, session_id: str, uid: str) -> bool:
    """Whether another directory is the same session, whose rows must then stay."""
    others = (name for name in listing.names(store) if name != session_id)
    return any(uid_of(store, name) == uid for name in others)


def uid_of(store: Folder, name: str) -> str:
    """The uid of the session in this directory; empty where there is none that says."""
    try:
        with identities.open_folder(store, name) as session:
            return identities.read(session).uid
    except VarviteError:
        return ""
