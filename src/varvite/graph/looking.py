"""A session's index beside its writer: no lock, nothing written, as of the cursor it says."""

from types import TracebackType
from typing import Any, Self

from varvite.disk.files import Folder
from varvite.errors import StaleIndexError
from varvite.graph import brief, due, face, focus, queue
from varvite.graph.packets import Packet
from varvite.graph.table import Record
from varvite.session import identity as identities
from varvite.session.index import Index
from varvite.session.kind import Kind


class Looking:
    """What a session's index says now. The index may be a batch behind a live writer."""

    def __init__(self, store: Folder, session_id: str, kind: Kind) -> None:
        """Open the index for reading.

        Raises:
            SessionNotFoundError, NotASessionError, CorruptError
            InputError: the session is of another kind.
            StaleIndexError: it has no index.
        """
        with identities.open_folder(store, session_id) as folder:
            self._identity = identities.read(folder)
            identities.check_kind(session_id, self._identity.kind, kind.name)
            try:
                self._index = Index(folder, read_only=True)
            except FileNotFoundError:
                raise StaleIndexError(f"{session_id} has no index") from None
        self._summary = kind.summary
        self.read = self._index.get

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._index.close()

    @property
    def cursor(self) -> int:
        applied = self._index.applied()
        return applied.seq if applied else 0

    def brief(self, *, size: int = 1) -> dict[str, Any]:
        """All that an agent needs to go on; see `graph.brief`."""
        head = {"session_id": self._identity.id, "title": self._identity.title}
        return brief.brief(
            self.read, head | {"cursor": self.cursor} | self._summary(self.read), size=size
        )

    def field_map(self) -> dict[str, Any]:
        """What `field_map.json` shows, as of the cursor. Costs a lookup a bucket."""
        return face.face(self.read)

    def packets(self, count: int) -> list[Packet]:
        return brief.pending(self.read, count)

    def focuses(self, count: int) -> list[Record]:
        """The focuses that wait, best first."""
        waiting = queue.waiting(self.read)[:count]
        return [{"id": one.focus_id} | focus.load(self.read, one.focus_id) for one in waiting]

    def obligations(self) -> list[Record]:
        """The first of the open ones, overdue ones before others."""
        window = due.at_hand(self.read).window
        return [{"id": one} | due.load(self.read, one) for one, _ in window]
