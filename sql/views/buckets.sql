-- Every part of the field as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the revisions ever written, at most one a
-- bucket and a step.
--
-- columns:  session_id       varchar      not null  the session's name
--           session_uid      varchar      not null  its identity
--           seq              bigint       not null  seq of this revision
--           id               varchar      not null  bucket id
--           rev              bigint       not null  0 creates, later ones replace
--           prev_seq         bigint       null      the seq that this revision supersedes
--           committed_at     timestamptz  not null  by the writer's clock, UTC
--           actor            varchar      not null  who appended it
--           label            varchar      not null  what it is called
--           role             varchar      null      what it is for; out_of_scope: not to be covered
--           required         boolean      null      the field is not covered without it
--           criteria         varchar      null      what belongs to it, in words
--           terms            varchar[]    null      words and phrases of its texts
--           nodes            bigint       not null  nodes assigned to it
--           papers           bigint       not null  distinct papers that they were placed in
--           claims           bigint       not null  of the nodes, those that are claims
--           questions        bigint       not null  of the nodes, those that are questions
--           by_role          varchar      null      JSON, nodes by role: premise, conclusion, other
--           exemplars        varchar      not null  JSON, [{node_id, score}], best first
--           coverage_status  varchar      not null  covered, partial, thin, missing or out_of_scope
--           open_gaps        varchar      null      JSON, [{kind, ...}]: nodes, papers, term
--           unmet_terms      varchar[]    null      terms that no node of it has
--           signature        varchar      not null  JSON, {method, features, weights}
--           merged_into      varchar      null      the bucket that has its nodes by now
--           opened_as        varchar      null      its label before it was renamed
--           body             varchar      null      fields beyond these, as JSON
select b.* exclude (stream) rename ("at" as committed_at)
from streams.buckets as b
anti join (
    select session_uid, prev_seq from streams.buckets where prev_seq is not null
) as later on b.session_uid = later.session_uid and b.seq = later.prev_seq
