"""What the experiment floor's statistics say of each segment, as a table for the view `evidence`.

SQL has no Monte Carlo; so the same functions that judge in Python judge the rows that
the snapshot shows, whatever its moment and wherever its runs come from.
"""

from typing import Any

import duckdb

from varvite.experiment.statistics import Noise, bootstrap_interval, evidence

TABLE = "verdicts"
COLUMNS = {
    "session_uid": "varchar",
    "segment": "bigint",
    "tries": "bigint",
    "p_calibrated": "double",
    "p_rank": "double",
    "p_gain": "double",
    "p_shift": "double",
    "p": "double",
    "likely_real": "boolean",
    "interval_low": "double",
    "interval_high": "double",
}
_TESTS = ("calibrated", "rank", "gain", "shift")
TRIES = """
with measured as (
    select *, try_cast(replicates::json as double[]) as found
    from measured_runs
),

codes as (
    select session_uid, segment, code, list(metric order by seq) as found
    from measured
    where code is not null
    group by session_uid, segment, code
),

begun as (
    select session_uid, segment, first(code order by seq) as code
    from measured
    where tried
    group by session_uid, segment
),

values as (
    select
        m.session_uid,
        m.id,
        case when len(m.found) > 1 then m.found else c.found end as found
    from measured as m
    left join codes as c using (session_uid, segment, code)
)

select
    m.session_uid,
    m.segment,
    any_value(m.direction) as direction,
    list(m.metric order by m.seq) as metrics,
    any_value(b.best_metric) as best,
    any_value(n.width) as width,
    any_value(n.degrees) as degrees,
    any_value(first.found) as baseline_found,
    any_value(most.found) as best_found,
    any_value(same.found) as same_found
from measured_runs as m
inner join best_runs as b on m.session_uid = b.session_uid and m.segment = b.segment
left join noise_floors as n on m.session_uid = n.session_uid and m.segment = n.segment
left join values as first
    on
        b.session_uid = first.session_uid
        and b.baseline_valid_id = first.id
        and b.baseline_valid_id <> b.best_id
left join begun on m.session_uid = begun.session_uid and m.segment = begun.segment
left join codes as same
    on
        begun.session_uid = same.session_uid
        and begun.segment = same.segment
        and begun.code = same.code
left join values as most on b.session_uid = most.session_uid and b.best_id = most.id
where m.tried
group by m.session_uid, m.segment
"""


def judged(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """A row of COLUMNS for each segment with a try."""
    return [_row(*row) for row in con.execute(TRIES).fetchall()]


def _row(
    uid: str,
    segment: int,
    direction: str,
    metrics: list[float],
    best: float,
    width: float | None,
    degrees: int | None,
    baseline_found: list[float] | None,
    best_found: list[float] | None,
    same_found: list[float] | None,
) -> tuple[Any, ...]:
    noise = None if width is None else Noise(width, degrees or 0)
    found = evidence(metrics, direction, noise=noise, best=best, baseline=same_found or [])
    interval = bootstrap_interval(baseline_found or [], best_found or []) or (None, None)
    tests = [found.tests.get(name) for name in _TESTS]
    return (uid, segment, found.runs, *tests, found.p, found.likely_real, *interval)
