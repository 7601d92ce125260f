-- The records of experiment sessions, under the names of the mission's table.
--
-- Reads the experiment records once; cost grows with them.
--
-- columns:  id         varchar      not null
--           sessionId  varchar      not null  the session's name
--           segment    bigint       not null  from 1
--           seq        bigint       not null  unique in its session
--           type       varchar      not null  config, run, hook, finalize or patch
--           payload    varchar      not null  JSON: what was given, under the record's typed fields
--           createdAt  timestamptz  not null  when it was committed, UTC
select
    id,
    session_id as "sessionId",
    segment,
    seq,
    type,
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
            '"metric":' || to_json(metric),
            '"metrics":' || metrics,
            '"commit":' || to_json(commit),
            '"description":' || to_json(description),
            '"name":' || to_json(name),
            '"metricName":' || to_json(metric_name),
            '"metricUnit":' || to_json(metric_unit),
            '"direction":' || to_json(direction)
        ) || '}'
    )::varchar as payload,
    "at" as "createdAt"
from streams.records
