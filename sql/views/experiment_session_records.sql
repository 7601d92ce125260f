-- The records of experiment sessions, under the names of the mission's table.
--
-- Reads the experiment records once; cost grows with them.
--
-- columns:  id         varchar      not null
--           sessionId  varchar      not null  the session's name
--           segment    bigint       not null  from 1
--           seq        bigint       not null  unique in its session
--           type       varchar      not null  config, run, hook, finalize or patch
--           payload    varchar      not null  JSON: what was given, with the record's typed fields
--           createdAt  timestamptz  not null  when it was committed, UTC
select
    id,
    session_id as "sessionId",
    segment,
    seq,
    type,
    json_merge_patch(
        coalesce(payload, '{}'),
        json_object(
            'status', status,
            'metric', metric,
            'metrics', metrics::json,
            'commit', commit,
            'description', description,
            'name', name,
            'metricName', metric_name,
            'metricUnit', metric_unit,
            'direction', direction
        )
    )::varchar as payload,
    "at" as "createdAt"
from streams.records
