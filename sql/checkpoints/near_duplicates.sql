-- Changes that were tried more than once, and ideas that are alike, over all sessions.
--
-- One pass over `tries`. A pair of different ideas has the runs of both.
--
-- columns:  alike_in     varchar  not null  change or description
--           idea         varchar  not null  the change's fingerprint, or the idea
--           other        varchar  not null  the same, or the idea that is like it
--           likeness     double   not null  0.8 to 1
--           sessions     bigint   not null
--           runs         bigint   not null
--           kept         bigint   not null  of the runs
--           failed       bigint   not null  of the runs: discards, and those that failed
--           description  varchar  null      of one of them
select
    alike_in,
    idea,
    other,
    likeness,
    count(distinct session_id) as sessions,
    count(*) as runs,
    count_if(kept)::bigint as kept,
    count_if(failed)::bigint as failed,
    min(description) as description
from tries
group by alike_in, idea, other, likeness
having count(*) > 1
order by alike_in, idea, other
