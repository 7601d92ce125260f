-- Every run of every experiment session, with what its segment measures.
--
-- Reads the experiment records once; cost grows with them. A foreign log that was
-- rewritten is read again under a new generation, and only its newest one counts.
--
-- columns:  session_id    varchar      not null  the session's name
--           session_uid   varchar      not null  its identity
--           seq           bigint       not null  seq of the run's record
--           id            varchar      not null  record id
--           committed_at  timestamptz  not null  by the writer's clock, UTC
--           segment       bigint       not null  experiment segment, from 1
--           ordinal       bigint       null      the run's number in its session, from 1
--           run_logged    double       null      what a foreign log called it; may repeat
--           status        varchar      null      its outcome: keep, discard, crash, …, or unknown
--           status_raw    varchar      null      as the log had it
--           metric        double       null      null when missing or not finite
--           metric_state  varchar      null      finite, missing, nan, infinite or not_a_number
--           metric_name   varchar      not null  of the segment
--           metric_unit   varchar      not null  of the segment
--           direction     varchar      not null  minimize or maximize
--           metrics       varchar      null      secondary metrics, JSON
--           commit        varchar      null      as the last patch of it said, else as logged
--           description   varchar      null      likewise
--           confidence    double       null      as logged
--           logged_at     timestamptz  null      as logged, UTC
--           source        varchar      null      the foreign log that it came from
--           generation    bigint       null      which reading of that log
--           counts        boolean      not null  whether it is of the log's newest generation
--           kept          boolean      not null  counts, and status is keep
--           payload       varchar      null      what else was given, JSON, as logged
with newest as (
    select session_uid, source, max(generation) as newest
    from streams.records
    where source is not null
    group by session_uid, source
),

definitions as (
    select
        session_uid,
        segment,
        arg_max(metric_name, seq) as metric_name,
        arg_max(metric_unit, seq) as metric_unit,
        arg_max(direction, seq) as direction
    from streams.records
    where type = 'config'
    group by session_uid, segment
),

told as (
    select
        session_uid,
        target_seq,
        arg_max(json_extract(payload, '$.commit'), seq) as commit,
        arg_max(json_extract(payload, '$.description'), seq) as description
    from streams.records
    where type = 'patch'
    group by session_uid, target_seq
)

select
    r.session_id,
    r.session_uid,
    r.seq,
    r.id,
    r."at" as committed_at,
    r.segment,
    r.ordinal,
    r.run_logged,
    r.status,
    r.status_raw,
    r.metric,
    r.metric_state,
    coalesce(d.metric_name, 'metric') as metric_name,
    coalesce(d.metric_unit, '') as metric_unit,
    coalesce(d.direction, 'minimize') as direction,
    r.metrics,
    case when t.commit is null then r.commit else t.commit ->> '$' end as commit,
    case
        when t.description is null then r.description else t.description ->> '$'
    end as description,
    r.confidence,
    r.logged_at,
    r.source,
    r.generation,
    n.newest is null or r.generation = n.newest as counts,
    (n.newest is null or r.generation = n.newest) and coalesce(r.status = 'keep', false) as kept,
    r.payload
from streams.records as r
left join newest as n on r.session_uid = n.session_uid and r.source = n.source
left join definitions as d on r.session_uid = d.session_uid and r.segment = d.segment
left join told as t on r.session_uid = t.session_uid and r.seq = t.target_seq
where r.type = 'run'
