-- Every draft that was not taken: what is wrong with it, what is allowed, what came of it.
--
-- An anti join over prev_seq; cost grows with the repair contexts ever written.
--
-- columns:  session_id     varchar      not null  the session's name
--           session_uid    varchar      not null  its identity
--           seq            bigint       not null  seq of this revision
--           id             varchar      not null  repair context id
--           rev            bigint       not null  0 creates, later ones replace
--           prev_seq       bigint       null      the seq that this revision supersedes
--           committed_at   timestamptz  not null  by the writer's clock, UTC
--           actor          varchar      not null  who appended it
--           task_id        varchar      not null  the packet that waits for it
--           focus_id       varchar      null
--           candidate_id   varchar      not null  what the draft would have been
--           status         varchar      not null  open, answered, resolved or dropped
--           attempt        bigint       not null  from 1
--           max_attempts   bigint       not null  attempts in all
--           codes          varchar[]    not null  what is wrong with the draft
--           errors         varchar      not null  JSON: [{code, field, message, ref}]
--           draft          varchar      not null  JSON: the answer as it was given
--           allowed_refs   varchar      not null  JSON: [{kind, id, node_id, value_type, ref}]
--           allowed_types  varchar[]    not null  the relation types
--           allowed_hints  varchar      not null  JSON: the promotion hints of each type
--           next_action    varchar      not null  resubmit, drop or human
--           repairs        varchar      null      the context that the draft answered
--           answered_by    varchar      null      the context or the candidate that came of it
--           why            varchar      null      why it was dropped
--           body           varchar      null      fields beyond these, as JSON
select r.* exclude (stream) rename ("at" as committed_at)
from streams.repair_contexts as r
anti join (
    select session_uid, prev_seq from streams.repair_contexts where prev_seq is not null
) as later on r.session_uid = later.session_uid and r.seq = later.prev_seq
