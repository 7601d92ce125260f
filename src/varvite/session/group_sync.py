"""One sync for the batches of several threads: the first waits a moment, then syncs for all."""

import threading
import time
from collections.abc import Callable

WINDOW_S = 0.005


class GroupSync:
    """Tickets are given in the order of the writes; a ticket is good once a later sync returned."""

    def __init__(self, sync: Callable[[], None], window_s: float = WINDOW_S) -> None:
        self._sync, self._window_s = sync, window_s
        self._changed = threading.Condition()
        self._written = self._synced = 0
        self._leading = False

    def wrote(self) -> int:
        with self._changed:
            self._written += 1
            return self._written

    def wait(self, ticket: int) -> None:
        """Return once the write with this ticket is synced, by this thread or another.

        Raises:
            CommitUnknownError: what the sync of this thread raised.
        """
        with self._changed:
            while self._leading and self._synced < ticket:
                self._changed.wait()
            if self._synced >= ticket:
                return
            self._leading = True
        try:
            time.sleep(self._window_s)
            upto = self._written
            self._sync()
            self._synced = max(self._synced, upto)
        finally:
            with self._changed:
                self._leading = False
                self._changed.notify_all()
