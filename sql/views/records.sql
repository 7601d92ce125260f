-- Every record of every stream, as written: one row a line of the journal.
--
-- Reads all streams; cost grows with the history that the filter leaves. `body` is
-- put together only where it is selected.
--
-- columns:  session_id   varchar      not null  the session's name
--           session_uid  varchar      not null  its identity, never used twice
--           seq          bigint       not null  number of the record in its session, from 1, gapless
--           stream       varchar      not null  kind of record
--           id           varchar      not null  what the record is about
--           rev          bigint       not null  0 creates, later ones replace
--           prev_seq     bigint       null      the seq that it supersedes
--           committed_at timestamptz  not null  by the writer's clock, UTC
--           actor        varchar      not null  who appended it
--           body         varchar      null      the record's own fields that are not null, as JSON
select session_id, session_uid, seq, stream, id, rev, prev_seq, "at" as committed_at, actor, body
from streams._all
