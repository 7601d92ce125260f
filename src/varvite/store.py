"""The facade: opens sessions, asks, compacts; loads each floor when it is called for."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from varvite import ids
from varvite.disk.files import Files, Folder, is_folder, storing
from varvite.errors import NotFoundError, SessionNotFoundError
from varvite.session import identity as identities
from varvite.session.identity import Identity
from varvite.session.kind import Kind

if TYPE_CHECKING:
    import duckdb

    from varvite.checkpoints.running import Ran
    from varvite.exchange.exporting import Exported, Form
    from varvite.exchange.fusion import FusionReport
    from varvite.experiment.rows import Session
    from varvite.experiment.session import ExperimentSession, Metric
    from varvite.experiment.status import Rules
    from varvite.experiments import Experiments
    from varvite.graph.assigner import Assigner, Embed
    from varvite.graph.looking import Looking
    from varvite.graph.port import GaiaPort
    from varvite.graph.session import GraphSession
    from varvite.query.catalog import AsOf
    from varvite.query.result import Result
    from varvite.segments.compact import Compacted
    from varvite.segments.delete import Deleted
    from varvite.segments.findings import Finding
    from varvite.segments.repair import Repair
    from varvite.segments.sweep import Swept
    from varvite.session.rebuild import Rebuilt
    from varvite.session.writer import Writer

GIT_ATTRIBUTES = b"*.ndjson -text merge=binary\n*.jsonl -text merge=binary\n"
GIT_IGNORE = b"index/\nlock\nCLEAN\n*.tmp\n_lake/\n"

_OURS = frozenset({"_lake", "_trash"})
"""What a store keeps when its last session is gone."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and how much there is."""


def open(path: str | os.PathLike[str]) -> "Store":  # noqa: A001  (varvite.open reads as it should)
    """The store at `path`. Creates nothing: the first session that is created makes it."""
    return Store(path)


class Store:
    """A directory of sessions. Cheap to make; holds nothing open between calls."""

    def __init__(self, path: str | os.PathLike[str], *, files: Files | None = None) -> None:
        self.path = os.path.abspath(path)
        self.files = files or Files()

    def __repr__(self) -> str:
        return f"Store({self.path!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to let go of: sessions are closed by their own handles."""

    @contextmanager
    def _folder(self, *, create: bool = False) -> Iterator[Folder]:
        if create and not os.path.isdir(self.path):
            with storing(f"creating {self.path}"):
                os.makedirs(self.path, mode=0o700, exist_ok=True)
        try:
            folder = Folder(self.files, self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFoundError(
                f"there is no store at {self.path}", hint="create a session in it, or name another"
            ) from None
        with folder:
            yield folder

    @contextmanager
    def _whole(self) -> Iterator[Folder]:
        """The store's folder, for what asks all of it.

        Raises:
            NotFoundError: there is none, or what is there is something else.
        """
        from varvite.session.listing import names

        with self._folder() as folder:
            shown = [name for name in folder.names() if not name.startswith(".")]
            if shown and not _OURS & {*shown} and not names(folder):
                raise NotFoundError(
                    f"{self.path} is no store: it has other things, and no session",
                    hint="name the store's folder, as by --store; a session created here makes one",
                )
            yield folder

    def sessions(self) -> list[dict[str, Any]]:
        """The sessions by name, each from its `state.json` and the journal beyond it.

        session_id, kind, title, created, cursor, updated, counts, summary. Reads a
        few KB a session, whatever its history.
        """
        from varvite.session.listing import listing

        with self._whole() as folder:
            return listing(folder)

    def session(self, session_id: str) -> dict[str, Any]:
        """One session's row of `sessions`; takes no lock.

        Raises:
            SessionNotFoundError, NotASessionError, CorruptError, NewerFormatError
        """
        from varvite.session.listing import row

        with self._folder() as folder:
            return row(folder, session_id)

    def graph(
        self,
        session_id: str,
        *,
        create: bool = False,
        title: str = "",
        parameters: Mapping[str, Any] | None = None,
        gaia: "GaiaPort | None" = None,
        assigner: "Assigner | Embed | None" = None,
        **options: Any,
    ) -> "GraphSession":
        """A graph session, open for writing. Options are those of `Writer`.

        parameters: of a session that is made, see `graph.parameters`. gaia: the package
        that projections and promotions go to; without it they wait. assigner: what
        assigns nodes to buckets, or a function from texts to vectors; by words without it.

        Raises:
            SessionNotFoundError, SessionExistsError, SessionLockedError, CorruptError
            InputError: a parameter out of bounds.
            StateConflictError: the session was made with others.
        """
        from varvite.graph.parameters import Parameters
        from varvite.graph.session import GRAPH, GraphSession

        wanted = Parameters.of(parameters or {})
        writer = self._writer(
            session_id,
            GRAPH,
            create=create,
            title=title,
            parameters=wanted.as_dict(),
            options=options,
        )
        session = GraphSession(writer, gaia=gaia, assigner=assigner)
        try:
            session.parameters.refuse_others(parameters or {})
        except BaseException:
            session.close()
            raise
        return session

    def looking(self, session_id: str) -> "Looking":
        """A graph session's brief, packets and focuses, read beside its writer.

        Raises:
            SessionNotFoundError, CorruptError, StaleIndexError, InputError
        """
        from varvite.graph.looking import Looking
        from varvite.graph.session import GRAPH

        with self._folder() as folder:
            return Looking(folder, session_id, GRAPH)

    def experiment(
        self,
        session_id: str,
        *,
        metric: "Metric | None" = None,
        create: bool = False,
        title: str = "",
        rules: "Rules" = "strict",
        **options: Any,
    ) -> "ExperimentSession":
        """An experiment session, open for writing; `metric` starts a new one's first segment."""
        from varvite.experiment.session import EXPERIMENT, ExperimentSession

        writer = self._writer(session_id, EXPERIMENT, create=create, title=title, options=options)
        session = ExperimentSession(writer, rules=rules)
        if metric and writer.cursor == 0:
            session.start(metric)
        return session

    def seen(self, session_id: str, *, rules: "Rules" = "strict") -> "Session | None":
        """An experiment session's row, from its index; None where that cannot tell. Takes no lock.

        Raises:
            SessionNotFoundError, NotASessionError, CorruptError
        """
        from varvite.experiment.seen import seen

        with self._folder() as folder:
            return seen(folder, session_id, rules)

    def experiment_ids(self) -> list[str]:
        """The experiment sessions, the newest first; none where there is no store."""
        from varvite.experiment.seen import newest

        try:
            with self._folder() as folder:
                return newest(folder)
        except NotFoundError:
            return []

    def experiments(self, *, rules: "Rules" = "strict", wait_s: float = 30) -> "Experiments":
        """All experiment sessions under the mission's names, each call on its own.

        wait_s: how long a call waits for a session that another process has open.
        """
        from varvite.experiments import Experiments

        return Experiments(self, rules=rules, wait_s=wait_s)

    def export(self, session_id: str, form: "Form", output: str | os.PathLike[str]) -> "Exported":
        """Put an experiment session into a file that another tool reads; takes no lock.

        form: pi, the log of pi-autoresearch; fusion, the rows of Fusion's two tables, in
        SQLite where the file's name ends in .db, .sqlite or .sqlite3, else as JSON lines;
        csv and parquet, the runs.

        Raises:
            SessionNotFoundError, CorruptError, StorageError
            InputError: no experiment session, or no such form.
        """
        from varvite.exchange import exporting

        return exporting.export(self, session_id, form, os.fspath(output))

    def import_fusion(
        self,
        path: str | os.PathLike[str],
        session_id: str | None = None,
        *,
        only: str | None = None,
        create: bool = True,
        title: str = "",
        wait_s: float = 0,
    ) -> "list[FusionReport]":
        """Take over what is new in Fusion's SQLite tables, each session into one of ours.

        only: one of the sessions there. session_id: of ours, for that one; else each has
        the id that it has there, in small letters.

        Raises:
            NotFoundError, InputError, BusyError: .file
            StateConflictError: the session has runs that are not from there.
        """
        from varvite.exchange import fusion

        options: dict[str, Any] = {"create": create, "title": title, "wait_s": wait_s}
        return fusion.import_sessions(self, path, session_id=session_id, only=only, **options)

    def _writer(
        self,
        session_id: str,
        kind: Kind,
        *,
        create: bool,
        title: str,
        options: dict[str, Any],
        parameters: dict[str, Any] | None = None,
    ) -> "Writer":
        from varvite.session.writer import Writer

        with self._folder(create=create) as folder:
            if create and folder.stat(ids.session_id(session_id)) is None:
                self._furnish(folder)
                identities.create(
                    folder, session_id, kind, title=title, parameters=parameters or {}
                )
            found = self._identity(folder, session_id)
            identities.check_kind(session_id, found.kind, kind.name)
            return Writer(folder, session_id, kind, **options)

    def _furnish(self, folder: Folder) -> None:
        """Keep git from touching committed bytes, and from taking derived ones."""
        for name, data in ((".gitattributes", GIT_ATTRIBUTES), (".gitignore", GIT_IGNORE)):
            if folder.stat(name) is None:
                with storing(f"writing {folder.where(name)}"):
                    folder.replace(name, data, sync=True)

    def _identity(self, folder: Folder, session_id: str) -> Identity:
        with identities.open_folder(folder, session_id) as session:
            return identities.read(session)

    def sql(
        self,
        query: str,
        params: Mapping[str, Any] | list[Any] | None = None,
        *,
        as_of: "AsOf" = None,
        sessions: list[str] | None = None,
    ) -> "Result":
        """Ask the store: fresh to the last commit, no ingest step.

        `query` is a statement or the name of one in sql/queries. `as_of` is a cursor or
        a receipt (of the one session asked), SESSION to cursor pairs, or a UTC time.

        Raises:
            QueryError, CorruptError, SessionNotFoundError, NotFoundError, InputError
        """
        from varvite.query import statements
        from varvite.query.snapshot import Snapshot

        text, given = query, dict(params) if isinstance(params, Mapping) else params
        if query.isidentifier():
            named = statements.query(query)
            text, given = named.text, named.bound(params)
        with self._whole() as folder, Snapshot(folder, sessions=sessions, as_of=as_of) as snapshot:
            return snapshot.ask(text, given)

    def connect(
        self, *, as_of: "AsOf" = None, sessions: list[str] | None = None
    ) -> "duckdb.DuckDBPyConnection":
        """A DuckDB connection over one snapshot, all views made; for notebooks.

        It shows the moment at which it was made. Every segment is verified first.
        """
        from varvite.query.snapshot import Snapshot

        with self._whole() as folder:
            return Snapshot(folder, sessions=sessions, as_of=as_of).detach()

    def script(self, *, as_of: "AsOf" = None, sessions: list[str] | None = None) -> str:
        """The views as SQL for a bare DuckDB, over the segments alone; its header says how far."""
        from varvite.query.script import script
        from varvite.query.snapshot import Snapshot

        snapshot = partial(Snapshot, sessions=sessions, as_of=as_of, tail=False)
        with self._whole() as folder, snapshot(folder) as found:
            return script(found, self.path)

    def checkpoint(
        self,
        name: str,
        session_id: str | None = None,
        *,
        parameters: Mapping[str, Any] | None = None,
        as_of: int | None = None,
        engine: str = "duckdb",
        memory_mb: int | None = None,
        dry_run: bool = False,
        apply: bool = False,
        max_seconds: float | None = None,
        progress: Progress | None = None,
        gaia: "GaiaPort | None" = None,
    ) -> "list[Ran]":
        """Run a job that may read history, beside live writers; what each run came to.

        On one session, or on each of the kind that it reads; a job over many sessions is
        one run. A run that was cut short goes on; one that is done is not done again.
        as_of: the cursor to read the session at. memory_mb: what the engine may hold before
        it spills to disk. apply: hand in what it proposes. gaia: for the jobs that need it.

        Raises:
            NotFoundError: no job of this name. SessionNotFoundError, InputError, QueryError
            SessionLockedError: the same run is being done elsewhere.
            StoppedError: `max_seconds` are over; call it again.
            CorruptError: a segment that it reads is damaged. DiskFullError, StorageError
        """
        from varvite import checkpoints
        from varvite.checkpoints.running import MEMORY_MB, Options, run
        from varvite.graph.port import NoGaia
        from varvite.session.listing import kinds

        job = checkpoints.job(name)
        options = Options(
            engine=engine,
            memory_mb=memory_mb or MEMORY_MB,
            as_of=as_of,
            dry_run=dry_run,
            apply=apply,
            max_seconds=max_seconds,
            progress=progress,
            gaia=gaia or NoGaia(),
        )
        asked: list[str | None] = [session_id]
        with self._whole() as folder:
            if session_id is None and not job.wide:
                asked = [name for name, one in kinds(folder).items() if job.kind in {None, one}]
            return [
                run(folder, job, one, parameters or {}, options, kind_of=kind_of) for one in asked
            ]

    def compact(
        self,
        *,
        dry_run: bool = False,
        max_seconds: float | None = None,
        progress: Progress | None = None,
    ) -> "Compacted":
        """Bring what is in journals alone into Parquet segments, beside live writers."""
        from varvite.segments.compact import compact

        with self._whole() as folder:
            return compact(
                folder,
                dry_run=dry_run,
                max_seconds=max_seconds,
                progress=progress,
                kind_of=kind_of,
            )

    def rebuild(self, session_id: str, *, progress: Any = None) -> "Rebuilt":
        """Make a session's index, stream files and state anew from its journal."""
        from varvite.session.rebuild import rebuild

        with self._folder() as folder:
            kind = kind_of(self._identity(folder, session_id).kind)
            return rebuild(folder, session_id, kind, progress=progress)

    def verify(
        self,
        session_ids: list[str] | None = None,
        *,
        deep: bool = False,
        progress: Progress | None = None,
    ) -> "list[Finding]":
        """Read everything and say what is damaged; an empty list where nothing is.

        deep: also hold segments and indexes against what the journals would make.
        """
        from varvite.segments.verify import verify

        with self._whole() as folder:
            return verify(folder, session_ids, deep=deep, kind_of=kind_of, progress=progress)

    def repair(self, *, dry_run: bool = False) -> "list[Repair]":
        """Move what is damaged to quarantine and make anew what can be; delete nothing."""
        from varvite.segments.repair import repair

        with self._whole() as folder:
            return repair(folder, kind_of, dry_run=dry_run)

    def delete(self, session_id: str, *, dry_run: bool = False) -> "Deleted":
        """Take a session out of every view at once; its bytes go at a later `gc`."""
        from varvite.segments.delete import delete

        with self._folder() as folder:
            return delete(folder, session_id, dry_run=dry_run)

    def gc(self, *, grace_hours: float = 24, dry_run: bool = False) -> "Swept":
        """Remove what no manifest lists and no reader pins, once the grace period is over."""
        from varvite.segments.sweep import gc

        with self._whole() as folder:
            return gc(folder, grace_hours=grace_hours, dry_run=dry_run)

    def exists(self, session_id: str) -> bool:
        try:
            with self._folder() as folder:
                return is_folder(folder.stat(ids.session_id(session_id)))
        except NotFoundError:
            return False


def kind_of(name: str) -> Kind:
    """The kind of session of this name.

    Raises:
        SessionNotFoundError: a kind that this version does not know.
    """
    if name == "graph":
        from varvite.graph.session import GRAPH

        return GRAPH
    if name == "experiment":
        from varvite.experiment.session import EXPERIMENT

        return EXPERIMENT
    raise SessionNotFoundError(f"sessions of kind {name[:80]!r}", hint="upgrade varvite")
