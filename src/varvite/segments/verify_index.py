"""A session's index: whether it opens, whose it is, and whether a rebuild gives the same."""

import tempfile
from contextlib import closing
from itertools import zip_longest

from varvite.disk.files import Files, Folder
from varvite.errors import VarviteError
from varvite.segments.findings import Finding, derived
from varvite.session import parts, projecting
from varvite.session.identity import Identity
from varvite.session.index import FOLDER, Applied, Index
from varvite.session.kind import Kind


def applied_to(session: Folder, name: str) -> tuple[Applied | None, list[Finding]]:
    """How far the index is, and what keeps it from being read."""
    try:
        index = Index(session, read_only=True)
    except FileNotFoundError:
        return None, [derived(session.where(FOLDER), "is missing", "missing", name)]
    except VarviteError as error:
        return None, [derived(session.where(FOLDER), error.message, "corrupt", name)]
    with closing(index):
        try:
            return index.applied(), []
        except VarviteError as error:
            return None, [derived(session.where(FOLDER), error.message, "corrupt", name)]


def differs(session: Folder, name: str, identity: Identity, kind: Kind) -> list[Finding]:
    """Compare the index, entry by entry, with one made anew to the same cursor.

    The cursor is that of the index as it is opened for this: a live writer brings it further.
    """
    with (
        tempfile.TemporaryDirectory(prefix="varvite-") as place,
        Folder(Files(), place) as folder,
        closing(Index(folder)) as made,
        closing(Index(session, read_only=True)) as index,
    ):
        applied = index.applied()
        if applied is None:
            return []
        _replay(session, identity, kind, applied, made)
        pairs = zip_longest(index.items(), made.items())
        if all(one == other for one, other in pairs):
            return []
    what = f"differs from what the journal gives up to seq {applied.seq}"
    return [derived(session.where(FOLDER), what, "stale", name)]


def _replay(session: Folder, identity: Identity, kind: Kind, applied: Applied, made: Index) -> None:
    for batch in parts.batches(session):
        if batch.commit.last > applied.seq:
            return
        lines = [line + b"\n" for line in batch.lines()]
        entries = projecting.replayed(batch.commit, lines, kind.fold, made)
        made.apply(entries, projecting.applied(identity.uid, batch.commit))
