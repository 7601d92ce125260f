"""What jobs leave for the writer to commit: keyed acts, one file each, in `inbox/`.

A job holds no writer lock, so it hands in what should be done rather than records:
the session plans them on its state at that moment, and commits them under the act's
key. An act that was committed is not done again, however often it is left.
"""

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from varvite.disk import proof
from varvite.disk.files import Folder, storing
from varvite.errors import InputError, RecordNotFoundError, VarviteError

FOLDER = "inbox"
SUFFIX, REFUSED = ".json", ".refused"
SETTLING_NS = 1_000_000_000
_NAME_CHARS = 32


@dataclass(frozen=True, slots=True)
class Act:
    """key: its idempotency key. name: which of the kind's acts. payload: what that one takes."""

    key: str
    name: str
    actor: str
    payload: dict[str, Any]

    @property
    def file(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()[:_NAME_CHARS] + SUFFIX


def leave(session: Folder, act: Act) -> None:
    """Put the act where the next writer finds it; durable when it returns. Takes no lock."""
    with storing(f"leaving {act.name} in {session.path}"):
        if session.stat(FOLDER) is None:
            with suppress(FileExistsError):  # another job made it meanwhile
                session.make(FOLDER)
        values = {"key": act.key, "act": act.name, "actor": act.actor, "payload": act.payload}
        with session.folder(FOLDER) as inbox:
            inbox.replace(act.file, proof.document(values), sync=True)


def changed(session: Folder) -> int | None:
    """When a name in the inbox changed last, in nanoseconds; None without one. One stat."""
    seen = session.stat(FOLDER)
    return seen.st_mtime_ns if seen else None


def settled(change: int | None) -> int | None:
    """The change, unless it is so new that another one may come to bear the same time."""
    return None if change is None or time.time_ns() - change < SETTLING_NS else change


def waiting(session: Folder) -> Iterator[Act]:
    """The acts that wait, in the order of their files' names.

    One that cannot be read is refused, and the others go on.
    """
    with session.folder(FOLDER) as inbox:
        for name in inbox.names():
            if not name.endswith(SUFFIX):
                continue
            try:
                values = proof.read_document(inbox.read(name), inbox.where(name))
                act = Act(values["key"], values["act"], values["actor"], values["payload"])
                if act.file != name:
                    raise InputError(f"{inbox.where(name)} holds another act")
            except (VarviteError, KeyError, AttributeError) as error:
                refuse(session, name, error)
                continue
            yield act


def take_in(session: Folder, commit: Callable[[Act], None]) -> None:
    """Commit each act that waits, and remove it.

    One that the session refuses as input, or for a record that is not there, is set
    aside. What fails otherwise goes on waiting, and is raised once the others are done.
    """
    faults: list[Exception] = []
    for act in waiting(session):
        try:
            commit(act)
        except (InputError, RecordNotFoundError) as error:
            refuse(session, act.file, error)
        except VarviteError as error:
            faults.append(error)
        else:
            _remove(session, act)
    if faults:
        raise faults[0]


def _remove(session: Folder, act: Act) -> None:
    with session.folder(FOLDER) as inbox:
        inbox.remove(act.file)


def refuse(session: Folder, name: str, error: Exception) -> None:
    """Set an act aside, with the reason beside it: `<name>.refused` and `<name>.why`."""
    why = error.as_dict() if isinstance(error, VarviteError) else {"message": repr(error)}
    with session.folder(FOLDER) as inbox:
        inbox.replace(f"{name}.why", proof.document(why), sync=False)
        inbox.rename(name, f"{name}{REFUSED}")


def refused(session: Folder) -> list[dict[str, Any]]:
    """The acts that were set aside, with the errors that they met."""
    if session.stat(FOLDER) is None:
        return []
    with session.folder(FOLDER) as inbox:
        names = [name for name in inbox.names() if name.endswith(f"{SUFFIX}.why")]
        return [{"file": name.removesuffix(".why"), "error": _why(inbox, name)} for name in names]


def _why(inbox: Folder, name: str) -> dict[str, Any]:
    return proof.read_document(inbox.read(name), inbox.where(name))
