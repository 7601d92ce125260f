"""One run of a job, as its stages see it: what to ask, where to put answers, when to stop."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from varvite.checkpoints.tables import Answers
from varvite.disk.files import Folder
from varvite.engines.engine import Engine, Params
from varvite.errors import StoppedError
from varvite.graph.port import GaiaPort
from varvite.session.kind import Kind

Progress = Callable[[str, int, int], None]


class Run:
    """store: the store's folder. sessions: the uid of each session that is read, by name.

    cursors: how far each is read. scratch: the path of a folder of this run's own, emptied
    before each stage. kind_of: the kind of session of a name. earlier: the newest finished
    run of the job on these sessions before these cursors, with the same parameters.
    results: what the stages before this one came to.
    sql, texts: the statements that the stage ran so far, and what it wrote.
    """

    def __init__(
        self,
        store: Folder,
        engine: Engine,
        *,
        parameters: Mapping[str, Any],
        sessions: Mapping[str, str],
        cursors: Mapping[str, int],
        scratch: str,
        gaia: GaiaPort,
        kind_of: Callable[[str], Kind],
        earlier: Callable[[], Answers | None],
        results: Mapping[str, Any],
        deadline: float | None,
        progress: Progress,
    ) -> None:
        self.store, self.engine, self.gaia = store, engine, gaia
        self.parameters, self.sessions, self.cursors = parameters, sessions, cursors
        self.scratch, self.earlier, self.kind_of = scratch, earlier, kind_of
        self.results = results
        self._deadline, self._progress = deadline, progress
        self.sql: set[str] = set()
        self.texts: dict[str, str] = {}

    def ask(self, statement: str, params: Params | None = None) -> pa.Table:
        """The answer of a statement of `sql/checkpoints`, whole."""
        self.sql.add(statement)
        return self.engine.ask(statement, params)

    def make(self, table: str, statement: str | None = None, params: Params | None = None) -> int:
        """Make a table of a statement's answer, of the statement of that name unless one is given.

        Returns its rows. A table that the stage does not declare is gone when the stage ends.
        """
        statement = statement or table
        self.sql.add(statement)
        return self.engine.make(table, statement, params)

    def put(self, table: str, rows: pa.Table) -> int:
        """Make a table of rows that were worked out here."""
        return self.engine.put(table, rows)

    def write(self, file: str, text: str) -> None:
        """Leave a text that the stage declares."""
        self.texts[file] = text

    def report(self, what: str, done: int, total: int) -> None:
        """Say how far the stage is; `total` 0 where nobody knows.

        Raises:
            StoppedError: the time is over; the stage begins anew when the job is run again.
        """
        self._progress(what, done, total)
        self.check_time()

    def check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise StoppedError("the checkpoint stopped, its time was over", hint="run it again")
