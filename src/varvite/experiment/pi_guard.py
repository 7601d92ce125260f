"""When pi-autoresearch goes on by itself, and when it stops."""

from collections.abc import Sequence

TURNS_MAX = 200
FAILURES_MAX = 20
_FAILED = frozenset({"discard", "crash"})


def trailing_failures(statuses: Sequence[str]) -> int:
    """Discards and crashes at the end of a segment. Failed checks are a result, and end them."""
    count = 0
    for status in reversed(statuses):
        if status not in _FAILED:
            break
        count += 1
    return count


def must_stop(turns: int, statuses: Sequence[str]) -> bool:
    """Whether to stop after so many turns without a person, and such a segment."""
    return turns >= TURNS_MAX or trailing_failures(statuses) > FAILURES_MAX


def is_active(cwd: str, work_dir: str, *, log_exists: bool, recorded: bool | None) -> bool:
    """Whether a session is on: where there is a log, as was recorded last, else by its folder."""
    if not log_exists:
        return False
    return cwd == work_dir if recorded is None else recorded
