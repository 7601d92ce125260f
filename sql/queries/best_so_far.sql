-- The metric over the runs, with the best up to each of them.
--
-- One pass over the runs that count, in order; cost grows with them.
--
-- columns:  session_id   varchar      not null  the session's name
--           segment      bigint       not null  experiment segment, from 1
--           ordinal      bigint       null      the run's number in its session, from 1
--           id           varchar      not null  record id
--           committed_at timestamptz  not null  by the writer's clock, UTC
--           metric_name  varchar      not null
--           direction    varchar      not null  minimize or maximize
--           status       varchar      null
--           metric       double       null      null when missing or not finite
--           best_metric  double       null      the best kept so far in the segment; null before the first
with counted as (
    select
        *,
        case when kept and isfinite(metric) then metric end as winning
    from runs
    where counts
)

select
    session_id,
    segment,
    ordinal,
    id,
    committed_at,
    metric_name,
    direction,
    status,
    metric,
    case direction
        when 'maximize' then max(winning) over so_far
        else min(winning) over so_far
    end as best_metric
from counted
window so_far as (
    partition by session_uid, segment
    order by seq
    rows between unbounded preceding and current row
)
order by session_id, session_uid, seq
