"""What makes a directory a session: `session.json`, written once, and the first journal part."""

import errno
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from varvite import ids
from varvite.clock import now
from varvite.disk import proof
from varvite.disk.files import ABSENT, Folder, storing
from varvite.errors import (
    CorruptError,
    InputError,
    NotASessionError,
    SessionExistsError,
    SessionNotFoundError,
)
from varvite.records.limits import check
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
        InvalidIdError, LimitError, StorageError
    """
    check({"title": title, "parameters": parameters})
    made = Identity(ids.uid(), ids.session_id(session_id), kind.name, title, now(), parameters)
    temporary = f".new-{made.uid}"
    with storing(f"creating {store.where(session_id)}"):
        if store.stat(session_id) is not None:
            raise _exists(store, session_id)
        try:
            store.make(temporary)
            with store.folder(temporary) as folder:
                _fill(folder, made, kind)
            store.rename(temporary, session_id)
        except OSError as error:
            _clear(store, temporary)
            if error.errno in _TAKEN:
                raise _exists(store, session_id) from error
            raise
        store.sync()
    return made


_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}


def _clear(store: Folder, name: str) -> None:
    """Take away what a failed creation left, as far as the disk lets us."""
    with suppress(OSError):
        with store.folder(name) as folder:
            for each in folder.names():
                if each == SEALED:
                    folder.files.rmdir(each, dir_fd=folder.fd)
                else:
                    folder.remove(each)
        store.files.rmdir(name, dir_fd=store.fd)


def _fill(folder: Folder, made: Identity, kind: Kind) -> None:
    folder.make(SEALED)
    start = journal.Position(seq=0, batch=0, crc=0, epoch=0, offset=0)
    contents = {
        FILE: proof.document({"format": journal.FORMAT} | asdict(made)),
        ACTIVE: journal.header_line(made.uid, start, {}),
    } | {f"{stream}.jsonl": b"" for stream in kind.streams}
    for name, data in contents.items():
        fd = folder.create(name, data)
        try:
            folder.files.sync(fd)
        finally:
            folder.files.close(fd)
    folder.sync()


def _exists(store: Folder, session_id: str) -> SessionExistsError:
    return SessionExistsError(
        f"{store.where(session_id)} exists", hint="open it, or choose another id"
    )


def check_kind(session_id: str, found: str, wanted: str) -> None:
    """Raises InputError: the session is of another kind."""
    if found != wanted:
        raise InputError(
            f"{session_id} is a session of kind {found}, not {wanted}",
            hint=f"`varvite {found} --help` lists what can be done with it",
        )


def open_folder(store: Folder, session_id: str) -> Folder:
    """The directory of a session, not through a symbolic link.

    Raises:
        SessionNotFoundError, NotASessionError, StorageError
    """
    where = store.where(ids.session_id(session_id))
    with storing(f"opening {where}"):
        try:
            return store.folder(session_id)
        except FileNotFoundError:
            raise SessionNotFoundError(
                f"{store.path} has no session {session_id!r}", hint="`varvite sessions` lists them"
            ) from None
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            raise NotASessionError(f"{where} is not a session", file=where) from None


def read(folder: Folder, *, writing: bool = False) -> Identity:
    """Who the session is. Fields that a newer format added are passed over.

    Raises:
        NotASessionError, CorruptError, StorageError
        NewerFormatError: it is to be written, or its newer form cannot be read.
    """
    where = folder.where(FILE)
    with storing(f"reading {where}"):
        try:
            data = folder.read(FILE)
        except OSError as error:
            if error.errno not in ABSENT:
                raise
            raise NotASessionError(f"{folder.path} is not a session", file=where) from None
    values = proof.read_document(data, where)
    found = values.get("format")
    if writing:
        journal.refuse_newer(found, where)
    try:
        made = Identity(**{each.name: values[each.name] for each in fields(Identity)})
        sound = journal.is_count(found) and isinstance(made.parameters, dict)
    except KeyError:
        sound = False
    if not sound or not all(isinstance(getattr(made, name), str) for name in _TEXTS):
        journal.refuse_newer(found, where)
        raise CorruptError(f"{where} is damaged", file=where, offset=0)
    return made


_TEXTS = ("uid", "id", "kind", "title", "created")
