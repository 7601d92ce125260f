-- Every edge as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the edges ever written.
--
-- columns:  session_id     varchar      not null  the session's name
--           session_uid    varchar      not null  its identity
--           seq            bigint       not null  seq of this revision
--           id             varchar      not null  a hash of kind, ends and origin
--           rev            bigint       not null  0 creates, later ones replace
--           prev_seq       bigint       null      the seq that this revision supersedes
--           committed_at   timestamptz  not null  by the writer's clock, UTC
--           actor          varchar      not null  who appended it
--           edge_kind      varchar      not null  in_paper, premise_of, concludes, …
--           src            varchar      not null  node id
--           dst            varchar      not null  node id
--           origin         varchar      null      retrieval, chain, assessment, maintenance or gaia
--           status         varchar      null      active or retracted
--           candidate_id   varchar      null      the candidate that it came from
--           evidence_refs  varchar      null      JSON
--           response_id    varchar      null      the response that brought it
--           body           varchar      null      fields beyond these, as JSON
select e.* exclude (stream) rename ("at" as committed_at)
from streams.edges as e
anti join (
    select session_uid, prev_seq from streams.edges where prev_seq is not null
) as later on e.session_uid = later.session_uid and e.seq = later.prev_seq
