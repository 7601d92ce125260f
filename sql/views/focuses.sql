-- Every focus as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the revisions of focuses ever written.
--
-- columns:  session_id         varchar      not null  the session's name
--           session_uid        varchar      not null  its identity
--           seq                bigint       not null  seq of this revision
--           id                 varchar      not null  focus id
--           rev                bigint       not null  0 creates, later ones replace
--           prev_seq           bigint       null      the seq that this revision supersedes
--           committed_at       timestamptz  not null  by the writer's clock, UTC
--           actor              varchar      not null  who appended it
--           question           varchar      not null  what is asked
--           rationale          varchar      null
--           status             varchar      not null  candidate, accepted, deferred or closed
--           priority           varchar      not null  high, medium or low
--           readiness          varchar      not null  ready_for_assess, needs_expand, …
--           score              double       not null  how much it calls for work
--           queued             boolean      not null  whether it is among those to be worked on next
--           scope              varchar      null      JSON
--           bucket_ids         varchar[]    null      the buckets that it is tied to
--           obligation_ids     varchar[]    null      the newest of its open obligations
--           open_obligations   bigint       null      how many are open
--           evidence_refs      varchar      null      JSON: what its packet holds, with scores
--           suggested_queries  varchar[]    null
--           features           varchar      null      JSON: what the score is made of
--           triggers           varchar[]    null      all that made this revision
--           cause              varchar      null      JSON: the first of them, {trigger, ref}
--           touched_seq        bigint       null      the cursor before this revision
--           packet_id          varchar      null      its latest packet
--           packets            bigint       null      how many it had
--           gaia               varchar      null      JSON
--           body               varchar      null      fields beyond these, as JSON
select f.* exclude (stream) rename ("at" as committed_at)
from streams.focuses as f
anti join (
    select session_uid, prev_seq from streams.focuses where prev_seq is not null
) as later on f.session_uid = later.session_uid and f.seq = later.prev_seq
