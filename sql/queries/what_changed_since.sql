-- What came into the sessions after a cursor, stream by stream.
--
-- Reads the records beyond the cursor; cost grows with them.
--
-- params:   since       bigint       null      cursor: the last seq that is known; all where null
--           session_id  varchar      null      the session asked; all where null
-- columns:  session_id  varchar      not null  the session's name
--           stream      varchar      not null  kind of record
--           created     bigint       not null  things that are new
--           revised     bigint       not null  things that were there, and changed
--           first_seq   bigint       not null  of these records
--           last_seq    bigint       not null  of these records
--           last_at     timestamptz  not null  when the last one was committed, UTC
--           newest      varchar[]    not null  ids of the ten newest, newest first
with fresh as (
    select
        session_id,
        session_uid,
        stream,
        id,
        min(rev) as first_rev,
        min(seq) as first_seq,
        max(seq) as last_seq,
        max(committed_at) as last_at
    from records
    where seq > coalesce($since, 0) and session_id = coalesce($session_id, session_id)
    group by session_id, session_uid, stream, id
)

select
    session_id,
    stream,
    count(*) filter (where first_rev = 0) as created,
    count(*) filter (where first_rev > 0) as revised,
    min(first_seq) as first_seq,
    max(last_seq) as last_seq,
    max(last_at) as last_at,
    list(id order by last_seq desc)[:10] as newest
from fresh
group by session_id, session_uid, stream
order by session_id, stream
