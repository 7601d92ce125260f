-- Every session of the store.
--
-- Reads the catalog of the snapshot and the status events; cost grows with the sessions.
--
-- columns:  session_id   varchar      not null  the session's name
--           session_uid  varchar      not null  its identity
--           kind         varchar      not null  graph or experiment
--           title        varchar      not null  may be empty
--           created_at   timestamptz  not null  UTC
--           cursor       bigint       not null  the last committed seq that this snapshot shows
--           status       varchar      not null  active where nothing else was recorded
with changes as (
    select
        session_uid,
        arg_max(json_extract_string(payload, '$.to'), seq) as status
    from streams.events
    where type = 'status_changed'
    group by session_uid
)

select
    s.session_id,
    s.session_uid,
    s.kind,
    s.title,
    s.created_at,
    s.cursor,
    coalesce(c.status, 'active') as status
from catalog.sessions as s
left join changes as c using (session_uid)
