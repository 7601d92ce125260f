-- Stretches of at least ten runs in which no run became the best of its segment.
--
-- One pass over `runs`, and one over `best_history`.
--
-- columns:  session_id      varchar  not null  the session's name
--           session_uid     varchar  not null  its identity
--           segment         bigint   not null  experiment segment, from 1
--           after_id        varchar  null      the best run before it; null where there was none
--           best_metric     double   null      of that run
--           first_ordinal   bigint   null      of the stretch
--           last_ordinal    bigint   null      of the stretch
--           runs            bigint   not null  of the stretch, that count
--           kept            bigint   not null  of these
--           failed          bigint   not null  of these: crash, checks_failed or errored
--           goes_on         boolean  not null  whether it reaches the segment's last run
with counted as (
    select
        r.*,
        h.seq is not null as improves,
        count(h.seq) over (partition by r.session_uid, r.segment order by r.seq) as stretch,
        max(r.seq) over (partition by r.session_uid, r.segment) as last_seq
    from runs as r
    left join best_history as h on r.session_uid = h.session_uid and r.seq = h.seq
    where r.counts
)

select
    any_value(session_id) as session_id,
    session_uid,
    segment,
    any_value(id) filter (where improves) as after_id,
    any_value(metric) filter (where improves) as best_metric,
    min(ordinal) filter (where not improves) as first_ordinal,
    max(ordinal) filter (where not improves) as last_ordinal,
    count(*) filter (where not improves) as runs,
    count(*) filter (where kept and not improves) as kept,
    count(*) filter (where status in ('crash', 'checks_failed', 'errored')) as failed,
    max(seq) = any_value(last_seq) as goes_on
from counted
group by session_uid, segment, stretch
having count(*) filter (where not improves) >= 10
