"""A live log, followed: what is new goes into the session as it comes.

The session is open only while something is taken over, so others can write to it.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from varvite.errors import BusyError, NotFoundError
from varvite.experiment.importing import ImportReport
from varvite.experiment.session import ExperimentSession
from varvite.records.foreign import ForeignLog, LogBatch, LogCursor

EVERY_S = 0.5
SETTLED_S = 0.1
"""A file that changed less than this ago may change again under the same time stamp."""

Progress = Callable[[str, int, int], None]


class Opener(Protocol):
    """What a store is to this module."""

    def experiment(self, session_id: str, **options: Any) -> ExperimentSession: ...


class FileLog(ForeignLog, Protocol):
    """A foreign log that is a file."""

    @property
    def path(self) -> str: ...


class _Stamp(tuple[int, int, int]):
    """What tells that a file changed: which it is, how long, and when it was written."""

    __slots__ = ()

    @classmethod
    def of(cls, path: str) -> "_Stamp | None":
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return None
        return cls((status.st_ino, status.st_size, status.st_mtime_ns))

    @property
    def settled(self) -> bool:
        return not 0 <= time.time() - self[2] / 1e9 < SETTLED_S


@dataclass(slots=True)
class _Stoppable:
    """A log of which a stop is heeded between batches, each of which stands by itself."""

    log: FileLog
    stop: Event
    progress: Progress | None = None

    @property
    def source(self) -> str:
        return self.log.source

    def read(self, after: LogCursor | None) -> Iterator[LogBatch]:
        for batch in self.log.read(after):
            if self.progress:
                self.progress("importing", batch.cursor.offset, _size(self.log.path))
            yield batch
            if self.stop.is_set():
                return


def follow(
    store: Opener,
    log: FileLog,
    session_id: str,
    *,
    stop: Event,
    until_idle_s: float | None = None,
    every_s: float = EVERY_S,
    progress: Progress | None = None,
    busy: Callable[[BusyError], None] | None = None,
    **options: Any,
) -> Iterator[ImportReport]:
    """Import whenever the log has changed; a report each time that there was something new.

    Ends when `stop` is set, after the batch under way, or when nothing was new for
    `until_idle_s`. A log that is not there is waited for, and so is a session that another
    process has open; `busy` is told. Options are those of `Store.experiment`.

    Raises:
        SessionNotFoundError, SessionStatusError, LimitError
        StateConflictError: the log was rewritten, but other runs count beside its own.
    """
    stoppable, seen, since = _Stoppable(log, stop, progress), None, time.monotonic()
    while not stop.is_set():
        stamp = _Stamp.of(log.path)
        if stamp is not None and stamp != seen:
            seen = stamp if stamp.settled else None
            report = _taken(store, stoppable, session_id, options, busy)
            if report is None:
                seen = None
            elif report.lines or report.rewritten:
                since = time.monotonic()
                yield report
        if until_idle_s is not None and time.monotonic() - since >= until_idle_s:
            return
        stop.wait(every_s)


def _taken(
    store: Opener,
    log: _Stoppable,
    session_id: str,
    options: dict[str, Any],
    busy: Callable[[BusyError], None] | None,
) -> ImportReport | None:
    """What an import brought; None where it has to wait."""
    try:
        with store.experiment(session_id, **options) as session:
            return session.import_log(log)
    except BusyError as error:
        if busy:
            busy(error)
        return None
    except NotFoundError:
        if os.path.exists(log.log.path):
            raise
        return None


def _size(path: str) -> int:
    stamp = _Stamp.of(path)
    return stamp[1] if stamp else 0
