-- The focuses that wait to be worked on next, best first.
--
-- Reads the latest revision of each focus; cost grows with the revisions ever written.
--
-- columns:  session_id        varchar    not null  the session's name
--           session_uid       varchar    not null  its identity
--           place             bigint     not null  from 1
--           focus_id          varchar    not null
--           question          varchar    not null  what is asked
--           score             double     not null  how much it calls for work
--           status            varchar    not null  candidate or accepted
--           priority          varchar    not null  high, medium or low
--           readiness         varchar    not null  ready_for_assess, needs_expand, …
--           triggers          varchar[]  null      what touched it last
--           bucket_ids        varchar[]  null      the buckets that it is tied to
--           open_obligations  bigint     null      how many press on it
--           packet_id         varchar    null      its latest packet
--           touched_seq       bigint     null      the cursor before it was touched
select
    session_id,
    session_uid,
    row_number() over (
        partition by session_uid
        order by score desc, touched_seq desc, id
    ) as place,
    id as focus_id,
    question,
    score,
    status,
    priority,
    readiness,
    triggers,
    bucket_ids,
    open_obligations,
    packet_id,
    touched_seq
from focuses
where queued
