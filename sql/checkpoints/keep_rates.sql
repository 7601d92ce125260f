-- How the runs of each session came out, over all its segments, and where it got no further.
--
-- Reads the views `keep_rate` and `plateaus`.
--
-- columns:  session_id       varchar  not null
--           segments         bigint   not null  that have a run
--           runs             bigint   not null  that count
--           kept             bigint   not null  of these
--           discarded        bigint   not null
--           failed           bigint   not null  crash, checks_failed or errored
--           keep_rate        double   not null  kept of runs, 0 to 1
--           plateaus         bigint   not null  stretches of ten runs or more without a new best
--           longest_plateau  bigint   not null  its runs; 0 where there is none
--           stuck            boolean  not null  the last segment is in one
with stretches as (
    select
        session_uid,
        count(*) as plateaus,
        max(runs) as longest_plateau,
        max(segment) filter (where goes_on) as stuck_segment
    from plateaus
    group by session_uid
),

rates as (
    select
        session_id,
        session_uid,
        count(*) as segments,
        max(segment) as last_segment,
        sum(runs)::bigint as runs,
        sum(kept)::bigint as kept,
        sum(discarded)::bigint as discarded,
        sum(failed)::bigint as failed
    from keep_rate
    group by session_id, session_uid
)

select
    r.session_id,
    r.segments,
    r.runs,
    r.kept,
    r.discarded,
    r.failed,
    cast(r.kept as double) / r.runs as keep_rate,
    coalesce(s.plateaus, 0) as plateaus,
    coalesce(s.longest_plateau, 0) as longest_plateau,
    coalesce(s.stuck_segment = r.last_segment, false) as stuck
from rates as r
left join stretches as s on r.session_uid = s.session_uid
order by r.session_id
