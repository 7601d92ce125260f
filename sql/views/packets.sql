-- Every evidence packet as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the packets ever written.
--
-- columns:  session_id    varchar      not null  the session's name
--           session_uid   varchar      not null  its identity
--           seq           bigint       not null  seq of this revision
--           id            varchar      not null  packet id
--           rev           bigint       not null  0 creates, later ones replace
--           prev_seq      bigint       null      the seq that this revision supersedes
--           committed_at  timestamptz  not null  by the writer's clock, UTC
--           actor         varchar      not null  who appended it
--           focus_id      varchar      not null  the focus that it is for
--           number        bigint       not null  from 1, of its focus
--           status        varchar      not null  pending or assessed
--           question      varchar      null      what its focus asks
--           evidence      varchar      not null  JSON: the pieces of evidence, without scores
--           displaced     varchar      not null  JSON: refs that an earlier revision showed
--           triggers      varchar[]    null      what made it
--           cause         varchar      null      JSON: {trigger, ref}
--           body          varchar      null      fields beyond these, as JSON
select p.* exclude (stream) rename ("at" as committed_at)
from streams.packets as p
anti join (
    select session_uid, prev_seq from streams.packets where prev_seq is not null
) as later on p.session_uid = later.session_uid and p.seq = later.prev_seq
