-- Every run that became the best of its segment, with the best before it.
--
-- One pass over `runs`. The last row of a segment is its best run.
--
-- columns:  session_id    varchar      not null  the session's name
--           session_uid   varchar      not null  its identity
--           segment       bigint       not null  experiment segment, from 1
--           seq           bigint       not null  seq of the run's record
--           id            varchar      not null  record id
--           ordinal       bigint       null      the run's number in its session, from 1
--           committed_at  timestamptz  not null  by the writer's clock, UTC
--           metric        double       not null
--           before        double       null      the best until then; null for the first
--           gain          double       null      metric units by which it is better than that
--           place         bigint       not null  among the segment's runs that count, from 1
--           commit        varchar      null
--           description   varchar      null
with counted as (
    select
        *,
        case direction when 'maximize' then -metric else metric end as cost,
        row_number() over (partition by session_uid, segment order by seq) as place
    from runs
    where counts
),

winning as (
    select
        *,
        min(cost) over (
            partition by session_uid, segment
            order by seq
            rows between unbounded preceding and 1 preceding
        ) as least
    from counted
    where kept and isfinite(metric)
)

select
    session_id,
    session_uid,
    segment,
    seq,
    id,
    ordinal,
    committed_at,
    metric,
    case direction when 'maximize' then -least else least end as before,
    least - cost as gain,
    place,
    commit,
    description
from winning
where least is null or cost < least
