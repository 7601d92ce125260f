"""Candidates as they stand: found by id, by label, and by what an import called them."""

from collections.abc import Sequence

from varvite.errors import RecordNotFoundError
from varvite.graph.table import Record, Table, kept, state
from varvite.session.kind import Read

CANDIDATE, LABEL, IMPORTED = "candidate", "candidate_label", "imported_subject"


def load(read: Read, candidate_id: str) -> Record:
    """A candidate as it stands.

    Raises:
        RecordNotFoundError
    """
    found = state(read, CANDIDATE, candidate_id)
    if found is None:
        raise RecordNotFoundError(
            f"no candidate {candidate_id[:80]!r}", hint="the view `candidates` has all of them"
        )
    return found


def exists(read: Read, candidate_id: str) -> bool:
    return read(CANDIDATE, candidate_id) is not None


def labelled(read: Read, label: str) -> str | None:
    """The first candidate of this label."""
    stored = read(LABEL, label)
    return None if stored is None else stored.decode()


def imported(read: Read, source: str, subject: str) -> str | None:
    """The candidate by which an import of `source` made `subject`."""
    stored = read(IMPORTED, f"{source}\0{subject}")
    return None if stored is None else stored.decode()


def _own_id(candidate: Record, read: Read) -> bytes:
    first = read(LABEL, candidate["label"])
    return bytes(candidate["id"], "utf-8") if first is None else first


def _subjects(candidate: Record) -> Sequence[str]:
    made = candidate.get("gaia") or {}
    return [f"{made.get('source')}\0{one}" for one in made.get("subjects", ())]


TABLES = (
    Table(LABEL, "candidates", lambda candidate: (candidate["label"],), _own_id),
    Table(IMPORTED, "candidates", _subjects, lambda one, _read: bytes(one["id"], "utf-8")),
    kept(CANDIDATE, "candidates"),
)
