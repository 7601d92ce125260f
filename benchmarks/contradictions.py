"""The contradictions job: its join against bare SQL on the same Parquet, a delta against all."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import duckdb
import pyarrow as pa

import varvite
from benchmarks import seeding
from benchmarks.measuring import Case, interleaved
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.checkpoints.contradictions.job import JOB
from varvite.checkpoints.run import Run
from varvite.checkpoints.running import Ran
from varvite.disk.files import Folder, remove_all
from varvite.engines.local import Local
from varvite.graph.port import NoGaia
from varvite.query.snapshot import Snapshot
from varvite.segments import manifest
from varvite.segments.scan import connect
from varvite.store import Store, kind_of
from varvite.testing import growing, mixed

DELTA = 1_000
AFTER = "contradiction join, after 1,000 records more"
VALUES = {name: one.default for name, one in JOB.parameters.items()}
_LATEST = (
    "select l.* from read_parquet([{files}]) as l anti join (select prev_seq from "
    "read_parquet([{files}]) where prev_seq is not null) as s on l.seq = s.prev_seq"
)
BARE = """
create or replace table pairs as
with d as (
    select id, seq, status = 'promoted' as won,
        status in ('candidate', 'promoted', 'deferred') as live,
        case when tension_group is not null then 'group:' || tension_group
            when focus_id is not null then 'focus:' || focus_id end as question,
        md5(lower(trim(claim))) as words
    from candidates
),
e as (
    select e.id, e.src, e.dst, e.edge_kind, greatest(e.seq, coalesce(d.seq, 0)) as seq,
        coalesce(e.status, 'active') <> 'retracted' and coalesce(d.live, true) as live,
        d.question, d.won, d.words
    from edges as e left join d on e.candidate_id = d.id
    where e.src <> e.dst
),
n as (
    select id, seq, metadata ->> '$.polarity' = 'positive' as yes,
        lower(trim(regexp_replace(metadata ->> '$.subject', '[\\s_-]+', ' ', 'g'))) as subject
    from nodes
)
select least(src, dst) as left_id, greatest(src, dst) as right_id, 'edge' as reason, id as key, seq,
    live, question, case when question is null then words end as words,
    case when won then 6 when edge_kind = 'contradicts' then 4 else 3 end::bigint as weight
from e where edge_kind in ('opposes', 'contradicts')
union all
select least(f.src, a.src), greatest(f.src, a.src), 'disputed', f.dst, max(greatest(f.seq, a.seq)),
    true, coalesce(min(a.question), min(f.question)), null, 1
from e as f inner join e as a on f.dst = a.dst
where f.edge_kind = 'supports' and a.edge_kind = 'opposes' and f.src <> a.src and f.live and a.live
group by 1, 2, 3, 4
union all
select least(f.dst, a.dst), greatest(f.dst, a.dst), 'evidence', f.src, max(greatest(f.seq, a.seq)),
    true, coalesce(min(a.question), min(f.question)), null, 2
from e as f inner join e as a on f.src = a.src
where f.edge_kind = 'supports' and a.edge_kind = 'opposes' and f.dst <> a.dst and f.live and a.live
group by 1, 2, 3, 4
union all
select least(f.id, a.id), greatest(f.id, a.id), 'subject', f.subject, greatest(f.seq, a.seq),
    true, 'subject:' || f.subject, null, 2
from n as f inner join n as a on f.subject = a.subject
where f.yes and not a.yes
order by 1, 2, 3, 4
"""
"""The same table as one would ask for it by hand: no caps, and nothing to go on from."""
NO_CANDIDATES = """
create view candidates as select null::varchar as id, null::bigint as seq, null::varchar as status,
    null::varchar as tension_group, null::varchar as focus_id, null::varchar as claim where false
"""
"""As the sessions that are measured have them."""


def rows(plan: Plan) -> Iterator[Row]:
    for records in plan.sizes:
        with seeding.copied(plan, "opposed", records, compacted=True) as path, ExitStack() as held:
            store = varvite.open(path)
            folder = held.enter_context(store._folder())
            yield _against_bare(plan, folder, records, held)
            yield from _after_a_delta(plan, store, folder, records)


def _against_bare(plan: Plan, folder: Folder, records: int, held: ExitStack) -> Row:
    bare = held.enter_context(closing(duckdb.connect()))
    for stream in ("edges", "nodes"):
        files = ", ".join(f"'{file}'" for file in _files(folder, stream))
        bare.execute(f"create view {stream} as {_LATEST.format(files=files)}")
    bare.execute(NO_CANDIDATES)
    found: list[dict[str, Any]] = []
    cases = [
        Case("ours", lambda one: found.append(_find(one, records)), lambda: _engine(folder)),
        Case("bare", lambda _: bare.execute(BARE)),
    ]
    spent = interleaved(cases, plan.rounds_few, warm_up=1)
    count = _same(_engine(folder), records, bare)
    return Row(
        "contradiction join, all anew",
        records,
        spent["ours"],
        "bare SQL for the same table from the same Parquet",
        spent["bare"],
        2,
        facts={"pairs": count},
    )


def _same(engine: Local, records: int, bare: duckdb.DuckDBPyConnection) -> int:
    """Rows of the table, which is seen to be the same row by row."""
    with closing(engine):
        _stage(engine, records)
        ours = pa.Table.from_batches(engine.batches("pairs"))
    theirs = bare.sql("from pairs").to_arrow_table()
    assert ours.equals(theirs.cast(ours.schema)), "not the same table"
    return int(ours.num_rows)


def _after_a_delta(plan: Plan, store: Store, folder: Folder, records: int) -> Iterator[Row]:
    before = _run(store)
    delta = list(growing.claims(2, min(DELTA, records // 10), after=records))
    cursor = mixed.append(store, SESSION, delta)
    found: list[dict[str, Any]] = []
    cases = [
        Case(
            "delta",
            lambda one: found.append(_find(one, cursor, before)),
            lambda: _engine(folder),
        ),
        Case("all", lambda one: found.append(_find(one, cursor)), lambda: _engine(folder)),
    ]
    spent = interleaved(cases, plan.rounds_few, warm_up=1)
    assert len({one["pairs"] for one in found}) == 1, found
    facts = {"keys": max(one["touched"] for one in found)}
    yield Row(AFTER, records, spent["delta"], "all anew", spent["all"], 0.4, facts=facts)
    yield _whole(plan, store, records)


def _whole(plan: Plan, store: Store, records: int) -> Row:
    """The job with all its stages: what is verified, grouped, ranked and written."""
    made: list[Ran] = []
    cases = [
        Case(mode, lambda _, mode=mode: made.append(_run(store, mode=mode)), lambda: _forget(made))
        for mode in ("auto", "full")
    ]
    spent = interleaved(cases, plan.rounds_few, warm_up=1)
    what = f"{AFTER}: the whole job"
    return Row(what, records, spent["auto"], "all anew", spent["full"], 0.4)


def _forget(made: list[Ran]) -> None:
    """Remove the run that was made last, which would only be replayed."""
    while made:
        remove_all(made.pop().path)


def _run(store: Store, **parameters: str) -> Ran:
    (ran,) = store.checkpoint(JOB.name, SESSION, parameters=parameters)
    return ran


def _engine(folder: Folder) -> Local:
    """Over segments that are taken as they are: what is measured is the join."""
    return Local(Snapshot(folder, sessions=[SESSION], connection=connect, verify=_taken))


def _taken(_store: Folder, _segments: Any) -> None:
    """Verify nothing."""


def _find(engine: Local, cursor: int, before: Ran | None = None) -> dict[str, Any]:
    with closing(engine):
        return _stage(engine, cursor, before)


def _stage(engine: Local, cursor: int, before: Ran | None = None) -> dict[str, Any]:
    """The first stage of the job, without writing its tables."""
    run = Run(
        engine._snapshot._store,
        engine,
        parameters=VALUES,
        sessions={},
        cursors={SESSION: cursor},
        scratch="",
        gaia=NoGaia(),
        kind_of=kind_of,
        earlier=lambda: before.answers if before else None,
        results={},
        deadline=None,
        progress=lambda *_: None,
    )
    return dict(JOB.stages[0].do(run) or {})


def _files(folder: Folder, stream: str) -> list[str]:
    segments = manifest.load(folder).segments
    return [manifest.path_of(folder, one) for one in segments if one.stream == stream]
