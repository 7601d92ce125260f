-- Every node as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the nodes ever written.
--
-- columns:  session_id     varchar      not null  the session's name
--           session_uid    varchar      not null  its identity
--           seq            bigint       not null  seq of this revision
--           id             varchar      not null  node id
--           rev            bigint       not null  0 creates, later ones replace
--           prev_seq       bigint       null      the seq that this revision supersedes
--           committed_at   timestamptz  not null  by the writer's clock, UTC
--           actor          varchar      not null  who appended it
--           node_kind      varchar      not null  variable, paper, factor, chain or package
--           source_key     varchar      null      where it comes from: lkm:<index>:<kind>:<id>
--           paper_key      varchar      null      the paper it belongs to, or is
--           doi            varchar      null      as the provider gives it
--           variable_type  varchar      null      claim, question or note
--           role           varchar      null      premise or conclusion
--           title          varchar      null
--           content        varchar      null      text of the claim; of a factor, one step a line
--           content_hash   varchar      null      the provider's
--           score          double       null      the provider's, at first sight
--           package_ref    varchar      null      its name in a Gaia package
--           projection     varchar      null      none, planned, applied or failed
--           first_query    varchar      null      the query that brought it
--           response_id    varchar      null      the response that brought it
--           bucket_ids     varchar[]    null      buckets given with it
--           metadata       varchar      null      JSON
--           body           varchar      null      fields beyond these, as JSON
select n.* exclude (stream) rename ("at" as committed_at)
from streams.nodes as n
anti join (
    select session_uid, prev_seq from streams.nodes where prev_seq is not null
) as later on n.session_uid = later.session_uid and n.seq = later.prev_seq
