"""One consistent state of the store as a DuckDB connection in memory.

A snapshot is one manifest generation and, for each session, the journal beyond it
up to one cursor. No DuckDB database file exists, so readers, the writer and
compaction never block one another.
"""

import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import duckdb

from varvite.disk.files import Folder
from varvite.errors import QueryError
from varvite.query import catalog, naming, receipts, relations, statements, verdicts
from varvite.query.catalog import AsOf, SessionAt
from varvite.query.naming import Named
from varvite.query.result import Result
from varvite.query.tail import Tail
from varvite.records.contracts import CONTRACTS
from varvite.segments import check, manifest, pins
from varvite.segments.ends import batches_between
from varvite.segments.manifest import Manifest, Segment
from varvite.segments.scan import Owner, connect, literal, quoted, select

ALL_RECORDS = "_all"
"""Every stream's records in one relation. No stream can have this name."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What a stream's relation stands on: rows and bytes of its segments, and of its tail."""

    rows: int
    bytes: int


class Snapshot:
    """The store at one moment. Views are made when they are first asked for.

    touched: the streams that were asked for so far.
    """

    def __init__(
        self,
        store: Folder,
        *,
        sessions: list[str] | None = None,
        as_of: AsOf = None,
        tail: bool = True,
        connection: Callable[[], duckdb.DuckDBPyConnection] = connect,
        verify: Callable[[Folder, Iterable[Segment]], None] = check.verified,
    ) -> None:
        """Fix the moment: read the manifest and each session's end; nothing of history yet.

        Without `tail` each session ends where its segments do. verify: how segments are
        seen to be whole before they are read.

        Raises:
            SessionNotFoundError, CorruptError, NewerFormatError, InputError
        """
        self._store = store
        self._tail = Tail()
        self._tail_read = self._kept = False
        self._made: set[str] = set()
        self._verify = verify
        self.touched: dict[str, Touched] = {}
        self._cut: dict[str, int] | None = None
        with ExitStack() as held:
            self._pin = held.enter_context(ExitStack())
            self.manifest: Manifest = self._pin.enter_context(pins.pinned(store))
            self.sessions: list[SessionAt] = catalog.sessions(store, self.manifest, sessions)
            if not tail:
                self.sessions = [replace(one, cursor=one.compacted) for one in self.sessions]
            self.con = connection()
            held.callback(self.con.close)
            held.callback(self._tail.close)
            self.con.execute(
                "create schema streams; create schema catalog; "
                "set python_enable_replacements = false"  # no variable is a table
            )
            cut = catalog.cutoffs(store, as_of, self.sessions)
            self._cut = self._at_time(cut) if isinstance(cut, str) else cut
            self._held = held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._held.close()

    def ask(self, sql: str, params: dict[str, Any] | list[Any] | None = None) -> Result:
        """Run one statement and materialise its answer.

        Raises:
            QueryError: not one statement that asks, or what DuckDB says of it.
            CorruptError: a segment that it touches is damaged.
        """
        try:
            naming.check_asks(self.con, sql)
            self._prepare(naming.named(self.con, sql))
            relation = self.con.sql(sql, params=params)
            if relation is None:
                raise QueryError("the statement gives no rows", hint="ask with a select")
            return Result(relation.to_arrow_table())
        except duckdb.Error as error:
            raise QueryError(str(error), hint=_hint(error)) from error

    def detach(self) -> duckdb.DuckDBPyConnection:
        """The connection with every view made, to be used after the snapshot is gone.

        It pins the manifest's generation until it is dropped.
        """
        self.keep_tail()
        try:
            self.make_all()
        except BaseException:
            self.close()
            raise
        self.con.execute("set python_enable_replacements = true")
        self._tail.close()
        weakref.finalize(self.con, self._pin.close)
        return self.con

    def keep_tail(self) -> None:
        """Read the tail of each stream once, into a table: for many statements to come."""
        if not self._kept:
            self.con.execute("create schema tail")
            self._kept = True

    def make_all(self) -> None:
        """Make every view, and the raw relation of every stream, empty ones too."""
        for stream in sorted(self.streams()):
            self._make_stream(stream)
        self.make(statements.views())

    def make(self, names: Iterable[str]) -> None:
        """Make the views of these names, and what they stand on."""
        views = statements.views()
        for name in sorted(set(names) & views.keys()):
            if name not in self._made:
                self._made.add(name)
                self.prepare(views[name].text)
                self.con.execute(f"create view {quoted(name)} as {views[name].text}")

    def prepare(self, sql: str) -> None:
        """Make what a statement reads that ships with the package."""
        self._prepare(naming.known(self.con, sql))

    def _prepare(self, found: Named) -> None:
        """Make what was found; a stream that there is not is left for DuckDB to miss."""
        if found.streams:
            for stream in sorted(found.streams & {ALL_RECORDS, *self.streams()}):
                self._make_stream(stream)
        self.make(found.views)
        for table in sorted(found.tables & catalog.TABLES.keys()):
            self._make_table(table)
        if found.listing:
            self.make_all()

    def streams(self) -> set[str]:
        """All streams that have a contract, or a record in a session asked, at any moment."""
        asked = {one.identity.uid for one in self.sessions}
        segments = (one for one in self.manifest.segments if not asked.isdisjoint(one.sessions))
        return set(CONTRACTS) | {one.stream for one in segments} | self._held_streams()

    def _held_streams(self) -> set[str]:
        """The streams that may have rows of this snapshot."""
        self._read_tail()
        segments = {segment.stream for segment in self.manifest.segments if self._holds(segment)}
        return segments | self._tail.streams()

    def _make_stream(self, stream: str) -> None:
        if f"streams.{stream}" in self._made:
            return
        self._made.add(f"streams.{stream}")
        if stream == ALL_RECORDS:
            held = self._held_streams() or {next(iter(CONTRACTS))}
            for one in held:
                self._make_stream(one)
            self._view(stream, relations.all_records(held))
        else:
            self._make_relation(stream)

    def _view(self, stream: str, text: str) -> None:
        self.con.execute(f"create view streams.{quoted(stream)} as {text}")

    def _make_relation(self, stream: str) -> None:
        self._read_tail()
        wanted = [
            segment
            for segment in self.manifest.segments
            if segment.stream == stream and self._holds(segment)
        ]
        self._verify(self._store, wanted)
        self.touched[stream] = Touched(
            sum(one.rows for one in wanted) + self._tail.rows(stream),
            sum(one.bytes for one in wanted) + self._tail.bytes(stream),
        )
        paths = [manifest.path_of(self._store, segment) for segment in wanted]
        text = partial(
            relations.relation, stream, paths, self._tail_of(stream), where=self._where()
        )
        try:
            self._view(stream, text(whole=True))
        except duckdb.BinderException:  # all its segments are an older version's
            self._view(stream, text())

    def _tail_of(self, stream: str) -> str | None:
        """SELECT text over the stream's tail."""
        path = self._tail.path(stream)
        if path is None:
            return None
        text = select(stream, path, extra=self._tail.has_extra(stream))
        if not self._kept:
            return text
        name = f"tail.{quoted(stream)}"
        self.con.execute(f"create table {name} as {text}")
        self._tail.let_go(stream)
        return f"from {name}"

    def _holds(self, segment: Segment) -> bool:
        """Whether it may hold rows of this snapshot."""
        return any(
            one.identity.uid in segment.sessions
            and segment.sessions[one.identity.uid].first <= self._cursor(one)
            for one in self.sessions
        )

    def _read_tail(self) -> None:
        if self._tail_read:
            return
        self._tail_read = True
        for one in self.sessions:
            if one.cursor > one.compacted:
                with catalog.reopened(self._store, one) as folder:
                    owner = Owner(one.identity.id, one.identity.uid)
                    through = self.manifest.sessions.get(owner.uid)
                    self._tail.add(owner, batches_between(folder, through, one.cursor))

    def _where(self) -> str | None:
        """Which rows belong: of the sessions asked, and none beyond the cut."""
        if self._cut is not None:
            rows = [
                f"(session_uid = {literal(uid)} and seq <= {int(seq)})"
                for uid, seq in self._cut.items()
            ]
            return " or ".join(rows) or "false"
        held = {uid for segment in self.manifest.segments for uid in segment.sessions}
        asked = {one.identity.uid for one in self.sessions}
        if held <= asked:
            return None
        return f"session_uid in ({', '.join(map(literal, sorted(asked)))})" if asked else "false"

    def _at_time(self, moment: str) -> dict[str, int]:
        """The last seq of each session that was committed by `moment`."""
        self._make_stream(ALL_RECORDS)
        found = self.con.execute(
            f"select session_uid, max(seq) from streams.{ALL_RECORDS}"  # noqa: S608  (a constant)
            ' where "at" <= ?::timestamptz group by session_uid',
            [moment],
        ).fetchall()
        for name in self._made:
            self.con.execute(f"drop view {name}")
        self._made.clear()
        reached = dict(found)
        return {one.identity.uid: reached.get(one.identity.uid, 0) for one in self.sessions}

    def _make_table(self, name: str) -> None:
        if f"catalog.{name}" not in self._made:
            self._made.add(f"catalog.{name}")
            catalog.make(self.con, name, self._rows(name))

    def _rows(self, table: str) -> list[tuple[Any, ...]]:
        if table == "sessions":
            return [catalog.session_row(one, self._cursor(one)) for one in self.sessions]
        if table == "segments":
            held = filter(self._holds, self.manifest.segments)
            return [catalog.segment_row(one, self.generation) for one in held]
        if table == "checkpoints":
            ends = [(one.name, self._cursor(one)) for one in self.sessions]
            return receipts.rows(self._store, ends)
        self.prepare(verdicts.TRIES)
        return verdicts.judged(self.con)

    @property
    def generation(self) -> int:
        return self.manifest.generation

    @property
    def cursors(self) -> dict[str, int]:
        """How far it shows each session, by name."""
        return {one.name: self._cursor(one) for one in self.sessions}

    def _cursor(self, one: SessionAt) -> int:
        return self._cut[one.identity.uid] if self._cut is not None else one.cursor


def _hint(error: duckdb.Error) -> str:
    """The names there are, of which DuckDB knows only those that were made for the statement."""
    if not isinstance(error, duckdb.CatalogException) or "Table with name" not in str(error):
        return ""
    return f"the views: {', '.join(sorted(statements.views()))}; streams: streams.NAME"
