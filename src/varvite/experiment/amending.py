"""What is said of earlier records: patches, kept runs and pointers, as records of their own."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import orjson

from varvite.disk.files import Folder
from varvite.errors import (
    InvalidRecordError,
    RecordNotFoundError,
    SessionStatusError,
    StateConflictError,
)
from varvite.experiment import about, ledger
from varvite.experiment.ledger import RunEntry, SessionState
from varvite.experiment.status import TAKES_RECORDS, Rules
from varvite.session import parts
from varvite.session.kind import Read
from varvite.session.records import seq_of

POINTERS = ("baseline", "best")


def check_about(changes: dict[str, Any]) -> None:
    """Refuse what a session cannot be said to be.

    Raises:
        InvalidRecordError: .path
    """
    for name, value in changes.items():
        if not about.fits(name, value):
            raise InvalidRecordError(
                f"{name}: {str(value)[:80]!r}", hint=f"one of {', '.join(about.TYPES)}", path=name
            )


def record(folder: Folder, read: Read, record_id: str) -> dict[str, Any]:
    """A record with its patches folded into `payload`. Reads one part of the journal.

    Raises:
        RecordNotFoundError
    """
    at = seq(read, record_id)
    patch = ledger.patched(read, at)
    return folded(line(folder, at), patch) if patch else line(folder, at)


def seq(read: Read, record_id: str) -> int:
    """Where a record is.

    Raises:
        RecordNotFoundError
    """
    found = seq_of(read, "records", record_id)
    if found is None:
        raise not_found(record_id)
    return found


def line(folder: Folder, at: int) -> dict[str, Any]:
    """The record of a seq as it was committed. Reads one part of the journal."""
    batch = next(parts.batches(folder, at - 1))
    found: dict[str, Any] = orjson.loads(batch.lines()[at - batch.commit.first])
    return found


def folded(found: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The record with a shallow merge of the patch; a null in it stays a null."""
    before = found.get("payload")
    held = before if isinstance(before, dict) else {} if before is None else {"payload": before}
    return (
        found | {name: patch[name] for name in _TEXTS if name in patch} | {"payload": held | patch}
    )


def run_entry(found: dict[str, Any]) -> RunEntry:
    """What the ledger holds of a run.

    Raises:
        InvalidRecordError: the record is no run.
    """
    if found["type"] != "run":
        raise not_a_run(found["id"])
    names = ("seq", "id", "segment", "ordinal", "status", "metric", "run_logged")
    known: dict[str, Any] = {name: found.get(name) for name in names}
    return RunEntry(**known)


def not_found(record_id: str) -> RecordNotFoundError:
    return RecordNotFoundError(f"Experiment record not found: {record_id}")


def not_a_run(record_id: str) -> InvalidRecordError:
    return InvalidRecordError(f"Experiment record is not a run: {record_id}", path="id")


def check_counts(state: SessionState, run: RunEntry) -> None:
    """Refuse a run that its log's rewriting took out of the count.

    Raises:
        StateConflictError
    """
    if not state.counts(run):
        raise StateConflictError(f"{run.id} is of a log that was rewritten, and no longer counts")


def check_patch(
    session_id: str, status: str, patch: dict[str, Any], target: Callable[[], dict[str, Any]]
) -> None:
    """Refuse a patch of a session that is done, unless it tells the commit of a run that has none.

    Raises:
        SessionStatusError: .status
    """
    if status in TAKES_RECORDS:
        return
    if patch.keys() == {"commit"} and isinstance(patch["commit"], str):
        found = target()
        told = found.get("commit") or (found.get("payload") or {}).get("commit")
        if found["type"] == "run" and not told:
            return
    raise SessionStatusError(
        f"Cannot patch record of {status} session: {session_id}",
        hint="only the commit of a run that has none can still be told",
        status=status,
    )


def check_merges(patch: Any) -> None:
    """Refuse a patch that is no object.

    Raises:
        InvalidRecordError
    """
    if not isinstance(patch, dict) or not patch:
        raise InvalidRecordError(
            f"patch: {str(patch)[:80]!r}", hint="an object with the keys to merge", path="patch"
        )


def patch_record(seq: int, patch: dict[str, Any]) -> dict[str, Any]:
    return {"stream": "records", "type": "patch", "target_seq": seq, "payload": patch}


def event(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"stream": "events", "type": kind, "payload": payload}


def keeping(read: Read, run: RunEntry, rules: Rules) -> dict[str, Any] | None:
    """The event that puts a run into the kept ledger; None where it is there.

    A keep always is; by Fusion's rules it is told apart whether someone put it there.
    """
    if not ledger.is_kept(read, run):
        return event(ledger.RUN_KEPT, {"run": asdict(run)})
    if rules == "fusion" and not ledger.was_put(read, run):
        return event(ledger.KEEP_PUT, {"run": run.id})
    return None


def pointer(name: str, run_id: str, segment: int) -> dict[str, Any]:
    return event(ledger.POINTER_SET, {"pointer": name, "run": run_id, "segment": segment})


_TEXTS = ("commit", "description")
