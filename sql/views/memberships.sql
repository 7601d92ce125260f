-- Where every node stands in the field map: one row a node and bucket that it is in, or may be in.
--
-- An anti join over prev_seq, then the buckets of each node side by side; cost grows with
-- the nodes ever placed. A node that fits no bucket is one row without a bucket.
--
-- columns:  session_id     varchar      not null  the session's name
--           session_uid    varchar      not null  its identity
--           seq            bigint       not null  seq of the node's latest membership
--           id             varchar      not null  membership id, the same for all rows of a node
--           rev            bigint       not null  0 creates, later ones replace
--           prev_seq       bigint       null      the seq that this revision supersedes
--           committed_at   timestamptz  not null  by the writer's clock, UTC
--           actor          varchar      not null  who appended it
--           node_id        varchar      not null  the node
--           state          varchar      not null  assigned, ambiguous or new_bucket_candidate
--           bucket_id      varchar      null      the bucket that it is in, or may be in
--           method         varchar      null      explicit, lexical or embedding
--           score          double       null      how like the bucket it was, 0 to 1
--           variable_type  varchar      null      what it was counted by: claim, question or note
--           role           varchar      null      premise or conclusion
--           paper_key      varchar      null      the paper it was counted under
--           body           varchar      null      fields beyond these, as JSON
select
    m.session_id,
    m.session_uid,
    m.seq,
    m.id,
    m.rev,
    m.prev_seq,
    m."at" as committed_at,
    m.actor,
    m.node_id,
    m.state,
    unnest(if(len(m.bucket_ids) = 0, [null], m.bucket_ids)) as bucket_id,
    unnest(if(len(m.bucket_ids) = 0, [null], m.methods)) as method,
    unnest(if(len(m.bucket_ids) = 0, [null], m.scores)) as score,
    m.variable_type,
    m.role,
    m.paper_key,
    m.body
from streams.memberships as m
anti join (
    select session_uid, prev_seq from streams.memberships where prev_seq is not null
) as later on m.session_uid = later.session_uid and m.seq = later.prev_seq
