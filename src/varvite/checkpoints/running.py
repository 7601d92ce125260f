"""Run a job: pin a snapshot, do its stages one after another, and write down what each left.

A stage is done once the receipt says so, which is replaced whole after the stage's tables
are on disk. So a run that is killed goes on after its last finished stage, on the same
cursors, and comes to the same tables.
"""

import resource
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any

from varvite.checkpoints import handing, places, tables
from varvite.checkpoints.job import Acting, Job, Stage
from varvite.checkpoints.parameters import taken
from varvite.checkpoints.run import Progress, Run
from varvite.checkpoints.tables import Answers
from varvite.clock import now
from varvite.disk.files import Folder, remove_all, storing
from varvite.disk.lock import Lock
from varvite.engines.local import Local
from varvite.errors import InputError, StoppedError, VarviteError
from varvite.graph.port import GaiaPort, NoGaia
from varvite.query import catalog, receipts
from varvite.query.catalog import SessionAt
from varvite.query.receipts import Receipt, StageDone
from varvite.query.snapshot import Snapshot
from varvite.segments import check
from varvite.segments import manifest as manifests
from varvite.segments.manifest import Segment
from varvite.segments.scan import connect
from varvite.session.kind import Kind

MEMORY_MB = 1024
ENGINES = ("duckdb",)
LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Options:
    """engine: duckdb. memory_mb: what the engine may hold before it spills to disk."""

    engine: str = "duckdb"
    memory_mb: int = MEMORY_MB
    as_of: int | None = None
    dry_run: bool = False
    apply: bool = False
    max_seconds: float | None = None
    progress: Progress | None = None
    gaia: GaiaPort = field(default_factory=NoGaia)


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run came to. state: ran, resumed, replayed (it was done before), or what a dry
    run found: would run, would resume, would replay. applied: what was handed in, by outcome.
    """

    state: str
    path: str
    receipt: Receipt
    applied: dict[str, int] = field(default_factory=dict)

    @property
    def answers(self) -> Answers:
        return Answers(self.path, self.receipt)

    def as_dict(self) -> dict[str, Any]:
        """state, path, then the receipt's fields, its stages in short."""
        receipt = self.receipt
        values = asdict(receipt) | {
            "stages": {one.name: round(one.seconds, 3) for one in receipt.stages},
            "tables": {name: one.rows for name, one in receipt.tables.items()},
            "results": receipt.results,
            "rows_written": receipt.rows_written,
            "seconds": round(receipt.seconds, 3),
        }
        return {"state": self.state, "path": self.path} | values | {"applied": self.applied}


def run(
    store: Folder,
    job: Job,
    session: str | None,
    given: Mapping[str, Any],
    options: Options,
    *,
    kind_of: Callable[[str], Kind],
) -> Ran:
    """Run a job on a session, or a wide one on all sessions of its kind (`session` is None).

    Takes no writer lock; a run of its own is locked while it is at work.

    Raises:
        InputError, SessionNotFoundError, NewerFormatError, QueryError
        SessionLockedError: this very run is being done elsewhere.
        StoppedError: `max_seconds` are over; run it again, and it goes on.
        CorruptError: a segment that it reads is damaged.
        DiskFullError, StorageError
    """
    values = taken(job, given)
    _check_engine(options.engine)
    if job.wide and options.as_of is not None:
        raise InputError(f"{job.name} reads many sessions: it has no single cursor", path="as_of")
    deadline = None if options.max_seconds is None else time.monotonic() + options.max_seconds
    with storing(f"the checkpoint {job.name}"), places.runs(store, session, make=False) as known:
        at = _at(store, job, session, options, list(places.found(known, job, values)), values)
    if options.dry_run:
        return Ran(f"would {at.state}", at.path(store), at.receipt)
    with storing(f"the checkpoint {job.name}"), places.runs(store, session) as runs:
        assert runs is not None  # noqa: S101  (it is made)
        ran = _Run(store, runs, job, at, options, deadline, kind_of).all()
    if options.apply:
        ran = replace(ran, applied=_apply(store, job, ran.answers, options, kind_of))
    return ran


def _apply(
    store: Folder, job: Job, answers: Answers, options: Options, kind_of: Callable[[str], Kind]
) -> dict[str, int]:
    if job.act is None:
        return handing.hand_in(store, job, answers, kind_of)
    return job.act(Acting(store, answers, options.gaia, kind_of, options.progress or _silent))


def _check_engine(name: str) -> None:
    if name not in ENGINES:
        raise InputError(f"no engine {name[:80]!r}", hint=f"there are: {', '.join(ENGINES)}")


@dataclass(frozen=True, slots=True)
class _At:
    """Which run it is: a new one, one to go on with, or one that is done."""

    state: str
    session: str | None
    name: str
    receipt: Receipt
    sessions: dict[str, str]

    def path(self, store: Folder) -> str:
        owner = self.session or manifests.LAKE
        return "/".join([store.where(owner), receipts.FOLDER, self.name])


def _at(
    store: Folder,
    job: Job,
    session: str | None,
    options: Options,
    known: list[places.Found],
    values: dict[str, Any],
) -> _At:
    manifest = manifests.load(store)
    only = [session] if session else None
    there = [one for one in catalog.sessions(store, manifest, only) if _of_kind(job, one)]
    if session and not there:
        raise InputError(f"{job.name} is of sessions of kind {job.kind}; {session} is none")
    uids = {one.name: one.identity.uid for one in there}
    ends = {one.name: one.cursor for one in there}
    for one in known:
        if one.receipt.status == "running" and _goes_on(one.receipt, ends, options.as_of):
            kept = {name: uids[name] for name in one.receipt.cursors}
            return _At("resume", session, one.name, one.receipt, kept)
    cursors = {one.name: one.cursor if options.as_of is None else options.as_of for one in there}
    began = now()
    name = places.run_name(job, cursors, manifest.generation, values, began)
    for one in known:
        if one.name == name:
            return _At("replay", session, name, one.receipt, uids)
    receipt = Receipt(
        job.name,
        session,
        cursors,
        manifest.generation,
        values,
        Local.name,
        Local.version,
        version("varvite"),
        began,
    )
    return _At("run", session, name, receipt, uids)


def _goes_on(receipt: Receipt, ends: Mapping[str, int], as_of: int | None) -> bool:
    """Whether what it read is there still, and is what was asked for."""
    asked = as_of is None or as_of in receipt.cursors.values()
    return asked and all(cursor <= ends.get(name, -1) for name, cursor in receipt.cursors.items())


def _of_kind(job: Job, one: SessionAt) -> bool:
    return job.kind in {None, one.identity.kind}


class _Run:
    def __init__(
        self,
        store: Folder,
        runs: Folder,
        job: Job,
        at: _At,
        options: Options,
        deadline: float | None,
        kind_of: Callable[[str], Kind],
    ) -> None:
        self._kind_of = kind_of
        self._store, self._runs, self._job, self._at = store, runs, job, at
        self._options, self._deadline = options, deadline
        self._receipt = at.receipt

    def all(self) -> Ran:
        at = self._at
        path = self._runs.where(at.name)
        if at.state == "replay":
            return Ran("replayed", path, at.receipt)
        with manifests.ensured(self._runs, at.name) as folder:
            lock = Lock.acquire(folder, LOCK, what=f"the checkpoint {at.name}")
            try:
                state = self._locked(folder)
            except VarviteError as error:
                if not (self._receipt.stages or isinstance(error, StoppedError)):
                    remove_all(path)  # nothing to go on with
                raise
            finally:
                lock.release()
        return Ran(state, path, self._receipt)

    def _locked(self, folder: Folder) -> str:
        """Do what is left to do; another run may have done some of it meanwhile."""
        left = receipts.read(folder)
        if left and places.up_to_date(left):
            self._receipt = left
            if left.status == "finished":
                return "replayed"
        keep = {one.file for one in self._receipt.files.values()}
        places.cleared(folder, keep=keep | {receipts.FILE, LOCK})
        receipts.write(folder, self._receipt)
        state = "resumed" if self._receipt.stages else "ran"
        with ExitStack() as held:
            engine = held.enter_context(closing(self._engine(folder)))
            for table in self._receipt.tables.values():
                engine.load(table.name, tables.verify(folder, table))
            for stage in self._job.stages[len(self._receipt.stages) :]:
                self._do(folder, engine, stage)
        self._finish(folder)
        return state

    def _engine(self, folder: Folder) -> Local:
        """DuckDB over the snapshot at the receipt's cursors, every segment verified anew."""
        spill = places.scratch(folder)
        open_connection = partial(
            connect, memory_limit=f"{self._options.memory_mb}MB", spill=f"{spill}/duckdb"
        )
        return Local(
            Snapshot(
                self._store,
                sessions=list(self._receipt.cursors),
                as_of=self._receipt.cursors,
                connection=open_connection,
                verify=_each,
            )
        )

    def _do(self, folder: Folder, engine: Local, stage: Stage) -> None:
        run = self._run(folder, engine)
        run.check_time()
        began, before = time.monotonic(), set(engine.tables())
        results = dict(stage.do(run) or {})
        written = tuple(tables.write(folder, engine, name) for name in stage.tables)
        texts = tuple(tables.write_text(folder, file, run.texts[file]) for file in stage.texts)
        for name in set(engine.tables()) - before - set(stage.tables):
            engine.drop(name)
        sql = {name: places.sha_of(name) or "" for name in sorted(run.sql)}
        seconds = time.monotonic() - began
        rows, read = engine.read()
        self._receipt = replace(
            self._receipt.with_stage(StageDone(stage.name, seconds, written, sql, results, texts)),
            rows_read=max(rows, self._receipt.rows_read),
            bytes_read=max(read, self._receipt.bytes_read),
            peak_memory_bytes=max(peak_memory(), self._receipt.peak_memory_bytes),
        )
        receipts.write(folder, self._receipt)

    def _run(self, folder: Folder, engine: Local) -> Run:
        progress = self._options.progress or _silent
        return Run(
            self._store,
            engine,
            parameters=self._receipt.parameters,
            sessions=self._at.sessions,
            cursors=self._receipt.cursors,
            scratch=folder.where(places.SCRATCH),
            gaia=self._options.gaia,
            kind_of=self._kind_of,
            earlier=self._earlier,
            results=self._receipt.results,
            deadline=self._deadline,
            progress=progress,
        )

    def _earlier(self) -> Answers | None:
        values, cursors = self._receipt.parameters, self._receipt.cursors
        for name, receipt in places.found(self._runs, self._job, values):
            before = receipt.cursors.keys() == cursors.keys() and all(
                receipt.cursors[one] < cursor for one, cursor in cursors.items()
            )
            if before and receipt.status == "finished":
                return Answers(self._runs.where(name), receipt)
        return None

    def _finish(self, folder: Folder) -> None:
        answers = Answers(folder.path, self._receipt)
        proposes: dict[str, int] = {}
        for one in self._job.proposals(answers):
            proposes[one.act] = proposes.get(one.act, 0) + 1
        self._receipt = replace(
            self._receipt, status="finished", ended=now(), proposes=dict(sorted(proposes.items()))
        )
        receipts.write(folder, self._receipt)
        keep = {one.file for one in self._receipt.files.values()}
        places.cleared(folder, keep=keep | {receipts.FILE, LOCK})


def _each(store: Folder, segments: Iterable[Segment]) -> None:
    """Read every segment again, trusting nothing that was verified before."""
    for one in segments:
        check.verify(store, one)


def peak_memory() -> int:
    """The most that this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _silent(_what: str, _done: int, _total: int) -> None:
    """Report to nobody."""
