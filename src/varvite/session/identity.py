"""What makes a directory a session: `session.json`, written once, and the first journal part."""

from dataclasses import asdict, dataclass, field
from typing import Any

from varvite import ids
from varvite.clock import now
from varvite.disk import proof
from varvite.disk.files import Folder, storing
from varvite.errors import (
    CorruptError,
    NotASessionError,
    SessionExistsError,
    SessionNotFoundError,
)
from varvite.session import journal
from varvite.session.kind import Kind
from varvite.session.parts import ACTIVE, SEALED

FILE = "session.json"


@dataclass(frozen=True, slots=True)
class Identity:
    uid: str
    id: str
    kind: str
    title: str
    created: str
    parameters: dict[str, Any] = field(default_factory=dict)


def create(
    store: Folder, session_id: str, kind: Kind, *, title: str = "", parameters: dict[str, Any]
) -> Identity:
    """Make a session that is whole, or no session at all.

    Raises:
        SessionExistsError: the name is taken, by whatever it is.
    """
    made = Identity(ids.uid(), ids.session_id(session_id), kind.name, title, now(), parameters)
    if store.stat(session_id) is not None:
        raise _exists(store, session_id)
    temporary = f".new-{made.uid}"
    with storing(f"creating {store.where(session_id)}"):
        store.make(temporary)
        with store.folder(temporary) as folder:
            _fill(folder, made, kind)
        try:
            store.rename(temporary, session_id)
        except OSError as error:
            if store.stat(session_id) is None:
                raise
            raise _exists(store, session_id) from error
        store.sync()
    return made


def _fill(folder: Folder, made: Identity, kind: Kind) -> None:
    folder.make(SEALED)
    start = journal.Position(seq=0, batch=0, crc=0, epoch=0, offset=0)
    contents = {
        FILE: proof.document({"format": journal.FORMAT} | asdict(made)),
        ACTIVE: journal.header_line(made.uid, start, {}),
    } | {f"{stream}.jsonl": b"" for stream in kind.streams}
    for name, data in contents.items():
        fd = folder.create(name, data)
        folder.files.sync(fd)
        folder.files.close(fd)
    folder.sync()


def _exists(store: Folder, session_id: str) -> SessionExistsError:
    return SessionExistsError(
        f"{store.where(session_id)} exists", hint="open it, or choose another id"
    )


def open_folder(store: Folder, session_id: str) -> Folder:
    """The directory of a session, not through a symbolic link.

    Raises:
        SessionNotFoundError, NotASessionError
    """
    try:
        return store.folder(ids.session_id(session_id))
    except FileNotFoundError:
        raise SessionNotFoundError(
            f"{store.path} has no session {session_id!r}", hint="`varvite sessions` lists them"
        ) from None
    except NotADirectoryError:
        raise NotASessionError(
            f"{store.where(session_id)} is not a session", file=store.where(session_id)
        ) from None


def read(folder: Folder) -> Identity:
    """Who the session is.

    Raises:
        NotASessionError, CorruptError, NewerFormatError
    """
    where = folder.where(FILE)
    try:
        data = folder.read(FILE)
    except OSError:
        raise NotASessionError(f"{folder.path} is not a session", file=where) from None
    values = proof.read_document(data, where)
    journal.refuse_newer(values.pop("format", None), where)
    try:
        return Identity(**values)
    except TypeError:
        raise CorruptError(f"{where} is damaged", file=where, offset=0) from None
