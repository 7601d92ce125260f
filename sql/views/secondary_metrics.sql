-- The secondary metrics of every run, one a row.
--
-- Reads the runs once; cost grows with their metrics. What is no number is null.
--
-- columns:  session_id   varchar  not null  the session's name
--           session_uid  varchar  not null  its identity
--           segment      bigint   not null  experiment segment, from 1
--           seq          bigint   not null  seq of the run's record
--           id           varchar  not null  the run's record id
--           ordinal      bigint   null      the run's number in its session, from 1
--           counts       boolean  not null  whether it is of its log's newest generation
--           name         varchar  not null  of the secondary metric
--           value        double   null
select
    r.session_id,
    r.session_uid,
    r.segment,
    r.seq,
    r.id,
    r.ordinal,
    r.counts,
    m.key as name,
    try_cast(m.value ->> '$' as double) as value
from runs as r, json_each(r.metrics::json) as m
where json_type(r.metrics) = 'OBJECT'
