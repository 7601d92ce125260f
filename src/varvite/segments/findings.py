"""What `verify` says: one finding a file."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Code = Literal["corrupt", "missing", "stale", "foreign", "orphan", "copy"]

REPAIR = "`varvite repair`"
REBUILD = "`varvite rebuild`"
GC = "`varvite gc`"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a file. `hint` is the verb that mends it.

    corrupt: its bytes are not what was written. missing: it should be there. stale: a
    derived file that is behind or changed. foreign: made from another session or history.
    orphan: nobody lists it, and it does no harm. copy: a second directory of one session.
    """

    file: str
    what: str
    hint: str
    code: Code
    session: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
