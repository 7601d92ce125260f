-- Every obligation as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the revisions of obligations ever written.
--
-- columns:  session_id       varchar      not null  the session's name
--           session_uid      varchar      not null  its identity
--           seq              bigint       not null  seq of this revision
--           id               varchar      not null  obligation id
--           rev              bigint       not null  0 creates, later ones replace
--           prev_seq         bigint       null      the seq that this revision supersedes
--           committed_at     timestamptz  not null  by the writer's clock, UTC
--           actor            varchar      not null  who appended it
--           target_kind      varchar      not null  focus, bucket, node or gaia_qid
--           target_id        varchar      not null  what it is about
--           content          varchar      not null  what must be answered
--           diagnostic_kind  varchar      not null  one of Gaia's five
--           status           varchar      not null  open, deferred or closed
--           raw_kind         varchar      null      the word that was given
--           actionable       boolean      null      whether it is to stand in Gaia's inquiry
--           why              varchar      null
--           source_refs      varchar      null      JSON
--           bucket_id        varchar      null      the bucket that it belongs to
--           focus_id         varchar      null      the focus that it presses on
--           opened_step      bigint       null      the step before which it was opened
--           opened_times     bigint       null      the first opening included
--           due_step         bigint       null      the step at which it is overdue while open
--           overdue          bigint       null      how often it was overdue
--           gaia_qid         varchar      null      Gaia's name for it
--           closed_reason    varchar      null
--           lane             varchar      null      gaia: it waits, or waited, for room there
--           place            bigint       null      its number among those, from 1
--           planned          boolean      null      whether its turn has come
--           body             varchar      null      fields beyond these, as JSON
select o.* exclude (stream) rename ("at" as committed_at)
from streams.obligations as o
anti join (
    select session_uid, prev_seq from streams.obligations where prev_seq is not null
) as later on o.session_uid = later.session_uid and o.seq = later.prev_seq
