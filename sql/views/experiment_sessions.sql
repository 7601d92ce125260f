-- Experiment sessions, under the names of the mission's table.
--
-- One pass over the experiment records and the events; cost grows with them.
--
-- columns:  id              varchar      not null  the session's name
--           name            varchar      not null  as configs or updates gave it last, else the title, else the id
--           projectId       varchar      null      project_id of a config's payload or of an update, the last to say
--           status          varchar      not null  active, finalizing, finalized or archived
--           metric          varchar      not null  JSON: name, unit, direction of the current segment
--           currentSegment  bigint       not null  from 1
--           maxIterations   bigint       null      max_iterations, likewise
--           workingDir      varchar      null      working_dir, likewise
--           baselineRunId   varchar      null      as set in the current segment, else its first run
--           bestRunId       varchar      null      as set in the current segment, else its best run
--           keptRunIds      varchar      not null  JSON list, in the order in which they were kept
--           tags            varchar      not null  JSON list: tags, likewise
--           metadata        varchar      null      JSON: metadata of an update, or a config's payload, the last
--           createdAt       timestamptz  not null  UTC
--           updatedAt       timestamptz  not null  UTC, of the last record or event
--           finalizedAt     timestamptz  null      UTC, of the first step into finalized, or as another store said
with touched as (
    select session_uid, arg_max("at", seq) as updated_at
    from (
        select session_uid, seq, "at" from streams.records
        union all
        select session_uid, seq, "at" from streams.events
    )
    group by session_uid
),

said as (
    select session_uid, seq, segment, name, payload, payload as metadata
    from streams.records
    where type = 'config'
    union all
    select
        session_uid,
        seq,
        null,
        json_extract_string(payload, '$.name'),
        payload,
        json_extract(payload, '$.metadata')::varchar
    from streams.events
    where type = 'session_updated'
),

about as (
    select
        session_uid,
        arg_max(segment, seq) as segment,
        arg_max(name, seq) as name,
        arg_max(metadata, seq) as metadata,
        arg_max(json_extract(payload, '$.project_id')::varchar, seq) as project_id,
        arg_max(json_extract(payload, '$.max_iterations')::varchar, seq) as max_iterations,
        arg_max(json_extract(payload, '$.working_dir')::varchar, seq) as working_dir,
        arg_max(json_extract(payload, '$.tags')::varchar, seq) as tags
    from said
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

pins as (
    select
        session_uid,
        segment,
        arg_max(run, seq) filter (where pointer = 'baseline') as baseline_id,
        arg_max(run, seq) filter (where pointer = 'best') as best_id
    from (
        select
            session_uid,
            seq,
            (payload ->> '$.segment')::bigint as segment,
            payload ->> '$.pointer' as pointer,
            payload ->> '$.run' as run
        from streams.events
        where type = 'pointer_set'
    )
    group by session_uid, segment
),

kept as (
    select session_uid, to_json(list(id order by kept_at))::varchar as ids
    from (
        select session_uid, id, seq as kept_at
        from runs
        where kept
        union all
        select r.session_uid, r.id, e.seq
        from streams.events as e
        inner join runs as r
            on e.session_uid = r.session_uid and r.id = e.payload ->> '$.run.id'
        where e.type = 'run_kept' and r.counts
    )
    group by session_uid
),

finalized as (
    select
        session_uid,
        arg_min(
            coalesce(try_cast(json_extract_string(payload, '$.finalized_at') as timestamptz), "at"),
            seq
        ) as finalized_at
    from streams.events
    where type = 'status_changed' and json_extract_string(payload, '$.to') = 'finalized'
    group by session_uid
)

select
    s.session_id as id,
    coalesce(c.name, nullif(s.title, ''), s.session_id) as name,
    c.project_id ->> '$' as "projectId",
    s.status,
    coalesce(
        d.metric, json_object('name', 'metric', 'unit', '', 'direction', 'minimize')::varchar
    ) as metric,
    coalesce(c.segment, 1) as "currentSegment",
    try_cast(c.max_iterations ->> '$' as bigint) as "maxIterations",
    c.working_dir ->> '$' as "workingDir",
    coalesce(p.baseline_id, b.baseline_id) as "baselineRunId",
    coalesce(p.best_id, b.best_id) as "bestRunId",
    coalesce(k.ids, '[]') as "keptRunIds",
    coalesce(nullif(c.tags, 'null'), '[]') as tags,
    nullif(c.metadata, 'null') as metadata,
    s.created_at as "createdAt",
    coalesce(t.updated_at, s.created_at) as "updatedAt",
    f.finalized_at as "finalizedAt"
from sessions as s
left join touched as t using (session_uid)
left join about as c using (session_uid)
left join definitions as d on s.session_uid = d.session_uid and c.segment = d.segment
left join best_runs as b on s.session_uid = b.session_uid and coalesce(c.segment, 1) = b.segment
left join pins as p on s.session_uid = p.session_uid and coalesce(c.segment, 1) = p.segment
left join kept as k on s.session_uid = k.session_uid
left join finalized as f on s.session_uid = f.session_uid
where s.kind = 'experiment'
