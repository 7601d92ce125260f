-- What has to become visible in Gaia, and how far it is: the latest state of each.
--
-- An anti join over prev_seq; cost grows with the states ever written.
--
-- columns:  session_id    varchar      not null  the session's name
--           session_uid   varchar      not null  its identity
--           seq           bigint       not null  seq of this revision
--           id            varchar      not null  projection id
--           rev           bigint       not null  0 creates, later ones replace
--           prev_seq      bigint       null      the seq that this revision supersedes
--           committed_at  timestamptz  not null  by the writer's clock, UTC
--           actor         varchar      not null  who appended it
--           kind          varchar      not null  add_package, materialise, obligation_open, candidate, …
--           subject_id    varchar      not null  what is to become visible
--           state         varchar      not null  planned, applying, applied, verified, failed or abandoned
--           lane          varchar      not null  planned or retry: where it waits
--           place         bigint       not null  its number there, from 1
--           attempts      bigint       null      how often it was begun
--           payload       varchar      null      JSON
--           result        varchar      null      JSON: what Gaia made of it
--           error         varchar      null      JSON: {code, message, retryable}
--           retryable     boolean      null      whether a failed one is tried again
--           body          varchar      null      fields beyond these, as JSON
select p.* exclude (stream) rename ("at" as committed_at)
from streams.projections as p
anti join (
    select session_uid, prev_seq from streams.projections where prev_seq is not null
) as later on p.session_uid = later.session_uid and p.seq = later.prev_seq
