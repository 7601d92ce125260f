-- The runs that were kept, in order, each against its segment's baseline.
--
-- Reads the experiment records twice; cost grows with them.
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
    r.session_id,
    r.segment,
    r.ordinal,
    r.id,
    r.metric_name,
    r.metric_unit,
    r.direction,
    r.metric,
    b.baseline_metric,
    case r.direction
        when 'maximize' then r.metric - b.baseline_metric
        else b.baseline_metric - r.metric
    end as gain,
    coalesce(r.seq = b.best_seq, false) as is_best,
    r.commit,
    r.description
from runs as r
inner join best_runs as b on r.session_uid = b.session_uid and r.segment = b.segment
where r.kept
order by r.session_id, r.session_uid, r.seq
