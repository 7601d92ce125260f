"""Read everything and say what is damaged. Takes no lock, and writes nothing to the store."""

from collections.abc import Callable

from varvite.disk.files import Folder
from varvite.errors import VarviteError
from varvite.segments.findings import Finding
from varvite.segments.manifest import Manifest
from varvite.segments.verify_lake import verify_lake, verify_manifests
from varvite.segments.verify_session import verify_session
from varvite.session import identity as identities
from varvite.session import listing
from varvite.session.kind import Kind

Progress = Callable[[str, int, int], None]
Kinds = Callable[[str], Kind]
"""From a kind's name to what the kernel needs of it."""


def verify(
    store: Folder,
    session_ids: list[str] | None = None,
    *,
    deep: bool = False,
    kind_of: Kinds | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Verify the sessions, all or those named, then `_lake`; an empty list where all is well.

    Journals: every part and the chain through them. Stream files, state and index:
    against the journal. Manifests and segments: CRC32, SHA-256, page checksums, rows
    and spans. deep: segments also row by row against the journal, and with `kind_of`
    each index against one made anew, in a temporary folder.

    Raises:
        SessionNotFoundError: of `session_ids`.
    """
    names = listing.names(store) if session_ids is None else session_ids
    found, manifest = verify_manifests(store)
    seen: dict[str, str] = {}
    for done, name in enumerate(names, 1):
        found += _session(store, name, manifest, seen, deep=deep, kind_of=kind_of)
        if progress:
            progress("sessions", done, len(names))
    if session_ids is None:
        found += verify_lake(store, manifest, seen, deep=deep, progress=progress)
    return found


def _session(
    store: Folder,
    name: str,
    manifest: Manifest,
    seen: dict[str, str],
    *,
    deep: bool,
    kind_of: Kinds | None,
) -> list[Finding]:
    with identities.open_folder(store, name) as session:
        try:
            identity = identities.read(session)
        except VarviteError as error:
            file = session.where(identities.FILE)
            return [
                Finding(file, error.message, "put it back from a copy", "corrupt", "session", name)
            ]
        other = seen.setdefault(identity.uid, name)
        if other != name:
            file = session.where(identities.FILE)
            what = f"has the uid of {other}: one is a copy of the other"
            return [
                Finding(file, what, "keep one of the two in this store", "copy", "session", name)
            ]
        kind = kind_of(identity.kind) if kind_of else None
        return verify_session(session, name, identity, manifest, kind, deep=deep)
