-- The queries that were asked, by how much each brought that was new.
--
-- Reads the calls alone; cost grows with them.
--
-- columns:  session_id   varchar      not null  the session's name
--           query        varchar      not null  the text that was asked
--           calls        bigint       not null  calls with this text, retries too
--           failed       bigint       not null  of these, failed
--           hits         bigint       not null  in all their answers
--           new_nodes    bigint       not null  variables never seen as a hit before
--           new_share    double       null      of the hits, the new ones; null without hits
--           last_at      timestamptz  not null  by the writer's clock, UTC
with asked as (
    select *, request ->> '$.text' as query from frontier
)

select
    any_value(session_id) as session_id,
    query,
    count(*) as calls,
    count(*) filter (where status = 'failed') as failed,
    coalesce(sum(hits), 0)::bigint as hits,
    coalesce(sum(new_nodes), 0)::bigint as new_nodes,
    sum(new_nodes) / nullif(sum(hits), 0) as new_share,
    max(committed_at) as last_at
from asked
where query is not null
group by session_uid, query
order by new_nodes desc, session_id, session_uid, query
