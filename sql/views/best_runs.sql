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
        case direction when 'maximize' then -metric else metric end as cost,
        struct_pack(id, seq, ordinal, run_logged, metric, status) as run
    from runs
    where counts
),

found as (
    select
        any_value(session_id) as session_id,
        session_uid,
        segment,
        any_value(metric_name) as metric_name,
        any_value(metric_unit) as metric_unit,
        any_value(direction) as direction,
        count(*) as runs,
        count(*) filter (where kept) as kept,
        arg_min(run, struct_pack(cost, seq)) filter (where wins) as best,
        arg_min(run, seq) as baseline,
        arg_min(run, seq) filter (where wins) as valid
    from counted
    group by session_uid, segment
)

select
    session_id,
    session_uid,
    segment,
    metric_name,
    metric_unit,
    direction,
    runs,
    kept,
    best.id as best_id,
    best.seq as best_seq,
    best.ordinal as best_ordinal,
    best.run_logged as best_run_logged,
    best.metric as best_metric,
    baseline.id as baseline_id,
    baseline.ordinal as baseline_ordinal,
    baseline.metric as baseline_metric,
    baseline.status as baseline_status,
    valid.id as baseline_valid_id,
    valid.ordinal as baseline_valid_ordinal,
    valid.metric as baseline_valid_metric
from found
