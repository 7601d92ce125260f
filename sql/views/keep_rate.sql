-- How the runs of each segment that count came out.
--
-- One pass over `runs`.
--
-- columns:  session_id   varchar  not null  the session's name
--           session_uid  varchar  not null  its identity
--           segment      bigint   not null  experiment segment, from 1
--           runs         bigint   not null  that count
--           kept         bigint   not null  of these
--           discarded    bigint   not null  of these
--           failed       bigint   not null  of these: crash, checks_failed or errored
--           keep_rate    double   not null  kept of runs, 0 to 1
select
    any_value(session_id) as session_id,
    session_uid,
    segment,
    count(*) as runs,
    count(*) filter (where kept) as kept,
    count(*) filter (where status = 'discard') as discarded,
    count(*) filter (where status in ('crash', 'checks_failed', 'errored')) as failed,
    count(*) filter (where kept) / count(*) as keep_rate
from runs
where counts
group by session_uid, segment
