-- The best run of each segment: kept, finite, in the segment's direction, the earliest of equals.
--
-- One pass over `runs`. The baselines stand beside it: the first run whatever its
-- status, and the first that could win.
--
-- columns:  session_id               varchar  not null  the session's name
--           session_uid              varchar  not null  its identity
--           segment                  bigint   not null  experiment segment, from 1
--           metric_name              varchar  not null
--           metric_unit              varchar  not null
--           direction                varchar  not null  minimize or maximize
--           runs                     bigint   not null  runs of the segment that count
--           kept                     bigint   not null  of these, kept
--           best_id                  varchar  null      null where no run can win
--           best_seq                 bigint   null
--           best_ordinal             bigint   null
--           best_run_logged          double   null
--           best_metric              double   null
--           baseline_id              varchar  not null  the segment's first run
--           baseline_ordinal         bigint   null
--           baseline_metric          double   null
--           baseline_status          varchar  null
--           baseline_valid_id        varchar  null      the first keep with a finite metric
--           baseline_valid_ordinal   bigint   null
--           baseline_valid_metric    double   null
with counted as (
    select
        *,
        kept and metric is not null and isfinite(metric) as wins,
        case direction when 'maximize' then -metric else metric end as cost
    from runs
    where counts
),

ranked as (
    select
        *,
        row_number() over (partition by session_uid, segment order by seq) as place,
        row_number() over (
            partition by session_uid, segment order by wins desc, cost, seq
        ) as rank,
        row_number() over (
            partition by session_uid, segment order by wins desc, seq
        ) as valid_place
    from counted
)

select
    any_value(session_id) as session_id,
    session_uid,
    segment,
    any_value(metric_name) as metric_name,
    any_value(metric_unit) as metric_unit,
    any_value(direction) as direction,
    count(*) as runs,
    count(*) filter (where kept) as kept,
    any_value(id) filter (where rank = 1 and wins) as best_id,
    any_value(seq) filter (where rank = 1 and wins) as best_seq,
    any_value(ordinal) filter (where rank = 1 and wins) as best_ordinal,
    any_value(run_logged) filter (where rank = 1 and wins) as best_run_logged,
    any_value(metric) filter (where rank = 1 and wins) as best_metric,
    any_value(id) filter (where place = 1) as baseline_id,
    any_value(ordinal) filter (where place = 1) as baseline_ordinal,
    any_value(metric) filter (where place = 1) as baseline_metric,
    any_value(status) filter (where place = 1) as baseline_status,
    any_value(id) filter (where valid_place = 1 and wins) as baseline_valid_id,
    any_value(ordinal) filter (where valid_place = 1 and wins) as baseline_valid_ordinal,
    any_value(metric) filter (where valid_place = 1 and wins) as baseline_valid_metric
from ranked
group by session_uid, segment
