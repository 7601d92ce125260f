"""What `verify` says: one finding a file."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Code = Literal["corrupt", "missing", "stale", "foreign", "orphan", "copy"]
Area = Literal["session", "journal", "history", "derived", "manifest", "segment", "orphan"]

REPAIR = "`varvite repair`"
REBUILD = "`varvite rebuild`"
GC = "`varvite gc`"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a file. `hint` is the verb that mends it.

    corrupt: its bytes are not what was written. missing: it should be there. stale: a
    derived file that is behind or changed. foreign: made from another session or history.
    orphan: nobody lists it, and it does no harm. copy: a second directory of one session.
    area: what `repair` would have to do with: the session's identity, its journal, segments
    of another history, what is derived from the journal, a manifest, a segment.
    """

    file: str
    what: str
    hint: str
    code: Code
    area: Area
    session: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def derived(file: str, what: str, code: Code, session: str) -> Finding:
    """A file that a rebuild makes anew."""
    return Finding(file, what, REBUILD, code, "derived", session)


def unknown(file: str, what: str, code: Code, session: str, hint: str) -> Finding:
    """A session of which it is not clear who it is."""
    return Finding(file, what, hint, code, "session", session)
