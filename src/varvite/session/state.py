"""`state.json`: what a listing or a resume needs, in a few KB, whatever the history.

It may lag behind the journal and says by how much: it carries the place in the
journal that it speaks of, so a reader goes on from there and reads only what is newer.
"""

from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from varvite.disk import proof
from varvite.disk.files import Folder
from varvite.errors import CorruptError
from varvite.session import journal
from varvite.session.identity import Identity
from varvite.session.journal import Position
from varvite.session.parts import ACTIVE

FILE = "state.json"


@dataclass(frozen=True, slots=True)
class State:
    """`part_first` names the part that `position.offset` counts in.

    synced: whether the journal was on disk up to the position, which it then still is.
    """

    position: Position
    part_first: int
    counts: dict[str, int]
    at: str
    summary: dict[str, Any]
    synced: bool = True

    @property
    def cursor(self) -> int:
        return self.position.seq


def write(folder: Folder, identity: Identity, state: State) -> None:
    """Replace the file, unsynced: it is derived."""
    values = {
        "schema_version": journal.FORMAT,
        "session_id": identity.id,
        "kind": identity.kind,
        "title": identity.title,
        "uid": identity.uid,
        "cursor": state.cursor,
        "counts": state.counts,
        "updated": state.at,
        "summary": state.summary,
        "journal": {"part_first": state.part_first, "synced": state.synced}
        | state.position._asdict(),
    }
    folder.replace(FILE, proof.document(values), sync=False)


def read(folder: Folder, identity: Identity) -> State | None:
    """The last state written; None where there is none that proves itself."""
    try:
        values = proof.read_document(folder.read(FILE), folder.where(FILE))
        if values["uid"] != identity.uid:
            return None
        place = values["journal"]
        made = State(
            Position(*(place[name] for name in Position._fields)),
            place["part_first"],
            dict(values["counts"]),
            values["updated"],
            dict(values["summary"]),
            place["synced"],
        )
    except (OSError, CorruptError, KeyError, TypeError, AttributeError, ValueError):
        return None
    numbers = (*made.position, made.part_first, *made.counts.values())
    return made if all(map(journal.is_count, numbers)) else None


@dataclass(frozen=True, slots=True)
class Clean:
    """What a closing writer leaves: the journal ends here, and so do its projections."""

    uid: str
    position: Position
    part_first: int
    streams: dict[str, tuple[int, int]]

    FILE = "CLEAN"

    def write(self, folder: Folder) -> None:
        values = asdict(self) | {"position": list(self.position)}
        folder.replace(self.FILE, proof.document(values), sync=True)

    @classmethod
    def read(cls, folder: Folder) -> "Clean | None":
        """The marker; None where the last writer left none that proves itself."""
        try:
            values = proof.read_document(folder.read(cls.FILE), folder.where(cls.FILE))
            streams = {name: (pair[0], pair[1]) for name, pair in values["streams"].items()}
            position = Position(*values["position"])
            numbers = (*position, values["part_first"], *chain.from_iterable(streams.values()))
            if not all(map(journal.is_count, numbers)):
                return None
            return cls(values["uid"], position, values["part_first"], streams)
        except (OSError, CorruptError, KeyError, TypeError, AttributeError, IndexError):
            return None

    def fits(self, folder: Folder, uid: str) -> bool:
        """Whether the active part still ends where the marker says. One stat."""
        status = folder.stat(ACTIVE)
        return self.uid == uid and status is not None and status.st_size == self.position.offset
