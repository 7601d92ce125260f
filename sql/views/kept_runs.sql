-- The kept ledger: runs that are keeps, or were put there, in the order in which they were.
--
-- One pass over `runs`, one over the events, and one over `best_runs`.
--
-- columns:  session_id       varchar  not null  the session's name
--           session_uid      varchar  not null  its identity
--           place            bigint   not null  in the session's ledger, from 1
--           segment          bigint   not null  experiment segment, from 1
--           seq              bigint   not null  seq of the run's record
--           id               varchar  not null  record id
--           ordinal          bigint   null      the run's number in its session, from 1
--           status           varchar  null      keep, unless it was put there
--           metric_name      varchar  not null
--           metric_unit      varchar  not null
--           direction        varchar  not null  minimize or maximize
--           metric           double   null      null when missing or not finite
--           baseline_metric  double   null      of the segment's first run
--           gain             double   null      metric units by which it is better than that
--           valid_gain       double   null      the same against the segment's first finite keep
--           is_best          boolean  not null  whether it is the segment's best
--           commit           varchar  null
--           description      varchar  null
with entered as (
    select session_uid, seq, seq as kept_at
    from runs
    where kept
    union all
    select r.session_uid, r.seq, e.seq
    from streams.events as e
    inner join runs as r on e.session_uid = r.session_uid and r.id = e.payload ->> '$.run.id'
    where e.type = 'run_kept' and r.counts
)

select
    r.session_id,
    r.session_uid,
    row_number() over (partition by r.session_uid order by e.kept_at) as place,
    r.segment,
    r.seq,
    r.id,
    r.ordinal,
    r.status,
    r.metric_name,
    r.metric_unit,
    r.direction,
    r.metric,
    b.baseline_metric,
    case r.direction
        when 'maximize' then r.metric - b.baseline_metric
        else b.baseline_metric - r.metric
    end as gain,
    case r.direction
        when 'maximize' then r.metric - b.baseline_valid_metric
        else b.baseline_valid_metric - r.metric
    end as valid_gain,
    coalesce(r.seq = b.best_seq, false) as is_best,
    r.commit,
    r.description
from entered as e
inner join runs as r on e.session_uid = r.session_uid and e.seq = r.seq
inner join best_runs as b on r.session_uid = b.session_uid and r.segment = b.segment
