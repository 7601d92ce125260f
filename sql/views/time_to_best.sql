-- How long each segment took to reach its best run, in runs and in time.
--
-- One pass over `runs`, and one over `best_runs`. Segments without a best run are not there.
--
-- columns:  session_id     varchar  not null  the session's name
--           session_uid    varchar  not null  its identity
--           segment        bigint   not null  experiment segment, from 1
--           runs           bigint   not null  of the segment, that count
--           runs_to_best   bigint   not null  its place among them, from 1
--           runs_since     bigint   not null  after it
--           seconds        double   not null  from the first run's record to its own
with counted as (
    select
        *,
        row_number() over (partition by session_uid, segment order by seq) as place,
        min(committed_at) over (partition by session_uid, segment) as begun
    from runs
    where counts
)

select
    b.session_id,
    b.session_uid,
    b.segment,
    b.runs,
    c.place as runs_to_best,
    b.runs - c.place as runs_since,
    epoch(c.committed_at) - epoch(c.begun) as seconds
from best_runs as b
inner join counted as c on b.session_uid = c.session_uid and b.best_seq = c.seq
