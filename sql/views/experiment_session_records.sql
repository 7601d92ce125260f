-- The records of experiment sessions, under the names of the mission's table.
--
-- Reads the experiment records once, and those with patches twice; cost grows with them.
-- A record's payload is that of the moment asked: what later patches said of it is in it.
-- `seq` counts all that the session recorded, so events leave gaps in it.
--
-- columns:  id         varchar      not null
--           sessionId  varchar      not null  the session's name
--           segment    bigint       not null  from 1
--           seq        bigint       not null  unique in its session
--           type       varchar      not null  config, run, hook, finalize or patch
--           payload    varchar      not null  JSON: what was given, under the record's typed fields, under its patches
--           createdAt  timestamptz  not null  when it was committed, UTC
with plain as (
    select
        id,
        session_id,
        session_uid,
        segment,
        seq,
        type,
        target_seq,
        json_merge_patch(
            case json_type(payload)
                when 'OBJECT' then payload
                when 'ARRAY' then '{"payload":' || payload || '}'
                else '{}'
            end,
            coalesce(body, '{}'),
            '{' || concat_ws(
                ',',
                '"status":' || to_json(status),
                case when not coalesce(json_exists(payload, '$.primaryMetric'), false)
                    then '"metric":' || to_json(metric) end,
                case when not coalesce(json_exists(payload, '$.secondaryMetrics'), false)
                    then '"metrics":' || metrics end,
                '"commit":' || to_json(commit),
                '"description":' || to_json(description),
                '"name":' || to_json(name),
                '"metricName":' || to_json(metric_name),
                '"metricUnit":' || to_json(metric_unit),
                '"direction":' || to_json(direction)
            ) || '}'
        )::varchar as payload,
        payload as given,
        "at" as created_at
    from streams.records
),

said as (
    select session_uid, target_seq as seq, seq as said_at, given as payload
    from plain
    where type = 'patch' and json_type(given) = 'OBJECT'
    union all
    select session_uid, seq, 0, payload
    from plain
    where (session_uid, seq) in (select (session_uid, target_seq) from plain where type = 'patch')
),

parts as (
    select s.session_uid, s.seq, e.key, arg_max(e.value::varchar, s.said_at) as value
    from said as s, json_each(s.payload::json) as e
    group by s.session_uid, s.seq, e.key
),

folded as (
    select
        session_uid,
        seq,
        '{' || string_agg(to_json(key) || ':' || value, ',' order by key) || '}' as payload
    from parts
    group by session_uid, seq
)

select
    p.id,
    p.session_id as "sessionId",
    p.segment,
    p.seq,
    p.type,
    coalesce(f.payload, p.payload) as payload,
    p.created_at as "createdAt"
from plain as p
left join folded as f on p.session_uid = f.session_uid and p.seq = f.seq
