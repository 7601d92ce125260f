"""Questions through the store, against DuckDB on the same files and Fusion's SQLite schema."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import duckdb

import varvite
from benchmarks import seeding
from benchmarks.fusion import Fusion, Synchronous
from benchmarks.measuring import Case, Spent, interleaved
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.graph.session import GRAPH
from varvite.segments import manifest
from varvite.session.writer import Writer
from varvite.store import Store
from varvite.testing import growing

AGGREGATE = "select node_kind, count(*), avg(score) from {} group by node_kind"
LATEST = "select count(*), sum(seq), avg(score) from {}"
QUALIFIED = (
    "(select * from {} qualify "
    "row_number() over (partition by session_uid, id order by seq desc) = 1)"
)
ANTI_JOINED = (
    "(select n.* from {0} as n anti join (select session_uid, prev_seq from {0} "
    "where prev_seq is not null) as l on n.session_uid = l.session_uid and n.seq = l.prev_seq)"
)
_FUSION_ROWS = "experiment_session_records"
_KIND, _SCORE = "json_extract(payload, '$.node_kind')", "json_extract(payload, '$.score')"
FUSION_AGGREGATE = f"select {_KIND}, count(*), avg({_SCORE}) from {_FUSION_ROWS} group by 1"
FUSION_LATEST = (
    f"select count(*), sum(seq), avg({_SCORE}) from (select *, row_number() over "
    f"(partition by json_extract(payload, '$.id') order by seq desc) as n from {_FUSION_ROWS}) "
    "where n = 1"
)
TAILS = (1_000, 10_000)


def rows(plan: Plan) -> Iterator[Row]:
    for records in plan.sizes:
        with (
            seeding.copied(plan, "revised", records, compacted=True) as path,
            _cache_of_its_own(path),
        ):
            yield _first_touch(path, records)
            yield from _questions(plan, path, records)
            yield from _tails(plan, path, records)


@contextmanager
def _cache_of_its_own(path: str) -> Iterator[None]:
    """Where it is noted which segments were verified, empty at first."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = f"{path}/cache"
    try:
        yield
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


def _first_touch(path: str, records: int) -> Row:
    """The first question reads each segment whole and proves it; the next does not."""
    store, sql = varvite.open(path), AGGREGATE.format("node_revisions")
    store.sql("select 1")  # what is imported is no part of it
    spent = {name: _once(store, sql) for name in ("first", "second")}
    size = sum(os.path.getsize(file) for file in _files(store))
    extra = spent["first"].wall_s - spent["second"].wall_s
    facts = {"MB": size / 1e6, "MB/s verified": size / max(extra, 1e-6) / 1e6}
    return Row(
        "first question, segments not yet verified",
        records,
        spent["first"],
        "the second",
        spent["second"],
        facts=facts,
    )


def _once(store: Store, sql: str) -> Spent:
    return interleaved([Case("", lambda _: store.sql(sql))], 1, warm_up=0)[""]


def _questions(plan: Plan, path: str, records: int) -> Iterator[Row]:
    store = varvite.open(path)
    with ExitStack() as stack:
        ours = stack.enter_context(store.connect())
        raw = stack.enter_context(duckdb.connect())
        listed = ", ".join(f"'{file}'" for file in _files(store))
        raw.execute(f"create view rows as select * from read_parquet([{listed}])")
        fusions = {mode: _fusion(stack, path, mode, records) for mode in ("FULL", "NORMAL")}
        for question in (_Aggregate, _Latest):
            yield from question(store, ours, raw, fusions).rows(plan, records)


class _Question:
    """One question in every form of it."""

    what = ours = raw = fusion = ""

    def __init__(
        self,
        store: Store,
        connection: duckdb.DuckDBPyConnection,
        raw: duckdb.DuckDBPyConnection,
        fusions: dict[str, Fusion],
    ) -> None:
        self._store, self._connection, self._raw = store, connection, raw
        self._fusions = fusions

    def cases(self) -> list[Case]:
        return [
            Case("store.sql", lambda _: self._store.sql(self.ours)),
            Case("new connection", lambda _: self._anew()),
            Case("connection", lambda _: self._connection.sql(self.ours).fetchall()),
            Case("raw", lambda _: self._raw.sql(self.raw).fetchall()),
            *(
                Case(mode, lambda _, one=one: one.ask(self.fusion))
                for mode, one in self._fusions.items()
            ),
        ]

    def _agree(self) -> None:
        """All forms ask the same, or comparing them means nothing."""
        answers = [self._store.sql(self.ours).rows(), self._raw.sql(self.raw).fetchall()]
        answers += [one.ask(self.fusion) for one in self._fusions.values()]
        rounded = [sorted(map(_rounded, answer)) for answer in answers]
        assert all(one == rounded[0] for one in rounded), rounded

    def _anew(self) -> None:
        listed = ", ".join(f"'{file}'" for file in _files(self._store))
        with duckdb.connect() as connection:
            connection.execute(f"create view rows as select * from read_parquet([{listed}])")
            connection.sql(self.raw).fetchall()

    def rows(self, plan: Plan, records: int) -> Iterator[Row]:
        self._agree()
        spent = interleaved(self.cases(), plan.rounds_few)
        yield self._row(records, spent, "connection", "raw", 1.15)
        yield self._row(records, spent, "store.sql", "new connection", 1.15)
        for mode in self._fusions:
            yield self._row(records, spent, "store.sql", mode, 100, faster=True)

    def _row(
        self,
        records: int,
        spent: dict[str, Spent],
        name: str,
        base: str,
        target: float | None,
        *,
        faster: bool = False,
    ) -> Row:
        bases = {
            "raw": "raw DuckDB",
            "new connection": "raw DuckDB, connecting too",
            "FULL": "Fusion FULL",
            "NORMAL": "Fusion NORMAL",
        }
        how = "an open connection" if name == "connection" else "store.sql"
        return Row(
            f"{self.what} through {how}{', times faster' * faster}",
            records,
            spent[name],
            bases.get(base, base),
            spent[base],
            target,
            at_least=faster,
        )


def _rounded(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sums of floats depend on their order."""
    return tuple(round(one, 9) if isinstance(one, float) else one for one in row)


class _Aggregate(_Question):
    what = "aggregate"
    ours, raw = AGGREGATE.format("node_revisions"), AGGREGATE.format("rows")
    fusion = FUSION_AGGREGATE


class _Latest(_Question):
    what = "latest revisions"
    ours, raw = LATEST.format("nodes"), LATEST.format(ANTI_JOINED.format("rows"))
    fusion = FUSION_LATEST
    _qualified = LATEST.format(QUALIFIED.format("rows"))

    def rows(self, plan: Plan, records: int) -> Iterator[Row]:
        yield from super().rows(plan, records)
        cases = [*self.cases()[2:3], Case("QUALIFY", lambda _: self._qualify())]
        spent = interleaved(cases, plan.rounds_few)
        yield self._row(records, spent, "connection", "QUALIFY", 3, faster=True)

    def _qualify(self) -> None:
        self._raw.sql(self._qualified).fetchall()


def _fusion(stack: ExitStack, path: str, mode: Synchronous, records: int) -> Fusion:
    fusion = Fusion(f"{path}/fusion-{mode}.db", mode)
    stack.callback(fusion.close)
    for batch in growing.batches(growing.nodes(1, records), growing.RECORDS_PER_BATCH):
        fusion.append(batch)
    return fusion


def _tails(plan: Plan, path: str, records: int) -> Iterator[Row]:
    """The same question while the last records are in the journal alone."""
    store, sql = varvite.open(path), AGGREGATE.format("node_revisions")
    compacted = _median(store, sql, plan)
    appended = 0
    for tail in TAILS:
        if tail > records:
            continue
        _append(store, tail - appended)
        appended = tail
        spent = _median(store, sql, plan)
        yield Row(
            f"aggregate with a tail of {tail:,}",
            records,
            spent,
            "no tail",
            compacted,
            1.2 if tail == max(TAILS) else None,
        )


def _median(store: Store, sql: str, plan: Plan) -> Spent:
    return interleaved([Case("", lambda _: store.sql(sql))], plan.rounds_few)[""]


def _append(store: Store, count: int) -> None:
    with store._folder() as folder, Writer(folder, SESSION, GRAPH, level="fast") as writer:
        for batch in growing.batches(growing.nodes(2, count), growing.RECORDS_PER_BATCH):
            writer.append(batch)


def _files(store: Store) -> list[str]:
    with store._folder() as folder:
        segments = manifest.load(folder).segments
        return [manifest.path_of(folder, one) for one in segments if one.stream == "nodes"]
