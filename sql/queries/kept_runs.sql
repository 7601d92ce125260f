-- The runs that were kept, in order, each against its segment's baseline.
--
-- Reads the view `kept_runs`; cost grows with the runs.
--
-- columns:  session_id       varchar  not null  the session's name
--           segment          bigint   not null  experiment segment, from 1
--           ordinal          bigint   null      the run's number in its session, from 1
--           id               varchar  not null  record id
--           metric_name      varchar  not null
--           metric_unit      varchar  not null
--           direction        varchar  not null  minimize or maximize
--           metric           double   null      null when missing or not finite
--           baseline_metric  double   null      of the segment's first run
--           gain             double   null      metric units by which it is better than the baseline
--           is_best          boolean  not null  whether it is the segment's best
--           commit           varchar  null
--           description      varchar  null
select
    session_id,
    segment,
    ordinal,
    id,
    metric_name,
    metric_unit,
    direction,
    metric,
    baseline_metric,
    gain,
    is_best,
    commit,
    description
from kept_runs
order by session_id, session_uid, place
