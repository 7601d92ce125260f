-- Every call that was made or is to be made, as it stands.
--
-- An anti join over prev_seq; cost grows with the calls ever written.
--
-- columns:  session_id   varchar      not null  the session's name
--           session_uid  varchar      not null  its identity
--           seq          bigint       not null  seq of this revision
--           id           varchar      not null  call id
--           rev          bigint       not null  0 creates, later ones replace
--           prev_seq     bigint       null      the seq that this revision supersedes
--           committed_at timestamptz  not null  by the writer's clock, UTC
--           actor        varchar      not null  who appended it
--           item_kind    varchar      not null  query, paper, claim_chain or obligation
--           dedup_key    varchar      null      what a call and its retries have in common
--           request      varchar      null      JSON
--           origin       varchar      null      JSON
--           priority     double       null
--           status       varchar      not null  pending, leased, done, failed or skipped
--           attempt      bigint       null      from 1
--           retry_of     varchar      null      the call that this one supersedes
--           lease_until  varchar      null      when a lease ends, UTC
--           lease_step   bigint       null      the step at which a lease ends
--           lease_by     varchar      null      who holds the lease
--           lane         varchar      null      high, medium or low: where it waits
--           place        bigint       null      its number in that lane, from 1
--           response_id  varchar      null      the answer
--           code         bigint       null      the provider's, 0 when done
--           message      varchar      null      the provider's
--           trace_id     varchar      null      the provider's
--           hits         bigint       null      hits in the answer
--           new_nodes    bigint       null      variables never seen as a hit before
--           source_ids   varchar[]    null      papers and claims that the answer has whole: with graph, with chains
--           body         varchar      null      fields beyond these, as JSON
select f.* exclude (stream) rename ("at" as committed_at)
from streams.frontier as f
anti join (
    select session_uid, prev_seq from streams.frontier where prev_seq is not null
) as later on f.session_uid = later.session_uid and f.seq = later.prev_seq
