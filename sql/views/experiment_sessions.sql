-- Experiment sessions, under the names of the mission's table.
--
-- One pass over the experiment records and the events; cost grows with them.
--
-- columns:  id              varchar      not null  the session's name
--           name            varchar      not null  as configs gave it last, else the title, else the id
--           projectId       varchar      null      of the last payload that a config gave: project_id
--           status          varchar      not null  active, finalizing, finalized or archived
--           metric          varchar      not null  JSON: name, unit, direction of the current segment
--           currentSegment  bigint       not null  from 1
--           maxIterations   bigint       null      of that payload: max_iterations
--           workingDir      varchar      null      of that payload: working_dir
--           baselineRunId   varchar      null      first run of the current segment
--           bestRunId       varchar      null      best run of the current segment
--           keptRunIds      varchar      not null  JSON list, in order
--           tags            varchar      not null  JSON list, of that payload: tags
--           metadata        varchar      null      JSON: that payload
--           createdAt       timestamptz  not null  UTC
--           updatedAt       timestamptz  not null  UTC, of the last record or event
--           finalizedAt     timestamptz  null      UTC, of the first step into finalized
with touched as (
    select session_uid, arg_max("at", seq) as updated_at, max(segment) as segment
    from (
        select session_uid, seq, "at", segment from streams.records
        union all
        select session_uid, seq, "at", null from streams.events
    )
    group by session_uid
),

configs as (
    select
        session_uid,
        arg_max(name, seq) as name,
        arg_max(payload, seq) as payload
    from streams.records
    where type = 'config'
    group by session_uid
),

definitions as (
    select
        session_uid,
        segment,
        arg_max(
            json_object('name', metric_name, 'unit', metric_unit, 'direction', direction)::varchar,
            seq
        ) as metric
    from streams.records
    where type = 'config'
    group by session_uid, segment
),

kept as (
    select session_uid, to_json(list(id order by seq))::varchar as ids
    from runs
    where kept
    group by session_uid
),

finalized as (
    select session_uid, arg_min("at", seq) as finalized_at
    from streams.events
    where type = 'status_changed' and json_extract_string(payload, '$.to') = 'finalized'
    group by session_uid
)

select
    s.session_id as id,
    coalesce(c.name, nullif(s.title, ''), s.session_id) as name,
    json_extract_string(c.payload, '$.project_id') as "projectId",
    s.status,
    coalesce(
        d.metric, json_object('name', 'metric', 'unit', '', 'direction', 'minimize')::varchar
    ) as metric,
    coalesce(t.segment, 1) as "currentSegment",
    try_cast(json_extract_string(c.payload, '$.max_iterations') as bigint) as "maxIterations",
    json_extract_string(c.payload, '$.working_dir') as "workingDir",
    b.baseline_id as "baselineRunId",
    b.best_id as "bestRunId",
    coalesce(k.ids, '[]') as "keptRunIds",
    coalesce(json_extract(c.payload, '$.tags')::varchar, '[]') as tags,
    c.payload as metadata,
    s.created_at as "createdAt",
    coalesce(t.updated_at, s.created_at) as "updatedAt",
    f.finalized_at as "finalizedAt"
from sessions as s
left join touched as t using (session_uid)
left join configs as c using (session_uid)
left join definitions as d on s.session_uid = d.session_uid and t.segment = d.segment
left join best_runs as b on s.session_uid = b.session_uid and t.segment = b.segment
left join kept as k on s.session_uid = k.session_uid
left join finalized as f on s.session_uid = f.session_uid
where s.kind = 'experiment'
