"""The states of an experiment session, and the only steps between them."""

from typing import Literal

from varvite.errors import SessionStatusError

Rules = Literal["strict", "fusion"]
"""Whose rules hold. Fusion's are laxer; they are for programs that were written for it."""

TRANSITIONS: dict[str, frozenset[str]] = {
    "active": frozenset({"finalizing", "archived"}),
    "finalizing": frozenset({"finalized", "active"}),
    "finalized": frozenset({"archived"}),
    "archived": frozenset(),
}
TAKES_RECORDS = frozenset({"active", "finalizing"})


def check_step(session_id: str, status: str, to: str, rules: Rules = "strict") -> None:
    """Refuse a step that the table has not; Fusion takes any to a state that there is.

    Raises:
        SessionStatusError: .status
    """
    if to not in (TRANSITIONS if rules == "fusion" else TRANSITIONS[status]):
        allowed = ", ".join(sorted(TRANSITIONS[status])) or "nothing"
        raise SessionStatusError(
            f"session {session_id} is {status} and cannot become {to[:80]}",
            hint=f"from {status} it can become {allowed}",
            status=status,
        )


def check_takes_records(session_id: str, status: str) -> None:
    """Refuse records for a session that is done.

    Raises:
        SessionStatusError: .status
    """
    if status not in TAKES_RECORDS:
        raise SessionStatusError(
            f"Cannot append record to {status} session: {session_id}", status=status
        )
