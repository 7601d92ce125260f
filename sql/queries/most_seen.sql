-- The nodes that search brought most often.
--
-- Counts the sightings once; cost grows with them.
--
-- params:   top          bigint   null      how many, 20 unless given
-- columns:  session_id   varchar  not null  the session's name
--           node_id      varchar  not null
--           sightings    bigint   not null  hits in all responses
--           queries      bigint   not null  different queries that brought it
--           best_rank    bigint   not null  its best place in a response, from 1
--           paper_key    varchar  null      the paper it belongs to
--           content      varchar  null
with seen as (
    select
        session_uid,
        any_value(session_id) as session_id,
        node_id,
        count(*) as sightings,
        count(distinct query) as queries,
        min(rank) as best_rank
    from sightings
    group by session_uid, node_id
)

select
    s.session_id,
    s.node_id,
    s.sightings,
    s.queries,
    s.best_rank,
    n.paper_key,
    n.content
from seen as s
left join nodes as n on s.session_uid = n.session_uid and s.node_id = n.id
order by s.sightings desc, s.best_rank, s.session_id, s.session_uid, s.node_id
limit coalesce($top::bigint, 20)
