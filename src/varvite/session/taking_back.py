"""A session that was made for input that is then refused: it goes again."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from varvite.disk.files import Files, Folder, is_folder, remove_all, storing
from varvite.disk.lock import Lock
from varvite.errors import VarviteError
from varvite.session import identity as identities
from varvite.session.reader import Reader


class Place(Protocol):
    """What a store is to this module."""

    path: str
    files: Files


@contextmanager
def unless_refused(store: Place, session_id: str, *, create: bool) -> Iterator[None]:
    """Where the block ends in an error, a session that it made goes again, if it is empty."""
    made = create and not _is_there(store, session_id)
    try:
        yield
    except BaseException:
        if made:
            with suppress(VarviteError, OSError), Folder(store.files, store.path) as folder:
                take_back(folder, session_id)
        raise


def _is_there(store: Place, session_id: str) -> bool:
    try:
        with Folder(store.files, store.path) as folder:
            return is_folder(folder.stat(session_id))
    except OSError:
        return False


def take_back(store: Folder, session_id: str) -> bool:
    """Remove a session that has no record; whether it had none.

    Raises:
        SessionNotFoundError, NotASessionError, StorageError
        SessionLockedError: somebody has it open.
    """
    with identities.open_folder(store, session_id) as folder:
        lock = Lock.acquire(folder, what=session_id)
        try:
            with Reader(store, session_id) as reader:
                if reader.cursor:
                    return False
            hidden = f".new-{reader.identity.uid}"
            with storing(f"removing {folder.path}"):
                store.rename(session_id, hidden)
                store.sync()
                remove_all(store.where(hidden))
        finally:
            lock.release()
    return True
