-- The papers, by how much of each the search has found.
--
-- Joins papers to their variables by edge; cost grows with the edges.
--
-- params:   top          bigint   null      how many, 50 unless given
-- columns:  session_id   varchar  not null  the session's name
--           paper_id     varchar  not null  node id of the paper
--           paper_key    varchar  null
--           doi          varchar  null
--           title        varchar  null
--           variables    bigint   not null  variables found that lie in it
--           seen         bigint   not null  of these, those that were a hit
--           factors      bigint   not null  reasoning steps found that lie in it
--           sightings    bigint   not null  hits on its variables
with seen as (
    select session_uid, node_id, count(*) as sightings
    from sightings
    group by session_uid, node_id
),

inside as (
    select
        e.session_uid,
        e.dst as paper_id,
        count(*) filter (where n.node_kind = 'variable') as variables,
        count(*) filter (where n.node_kind = 'factor') as factors,
        count(s.node_id) as seen,
        coalesce(sum(s.sightings), 0)::bigint as sightings
    from edges as e
    inner join nodes as n on e.session_uid = n.session_uid and e.src = n.id
    left join seen as s on e.session_uid = s.session_uid and e.src = s.node_id
    where e.edge_kind = 'in_paper' and e.status is distinct from 'retracted'
    group by e.session_uid, e.dst
)

select
    p.session_id,
    p.id as paper_id,
    p.paper_key,
    p.doi,
    p.title,
    coalesce(i.variables, 0) as variables,
    coalesce(i.seen, 0) as seen,
    coalesce(i.factors, 0) as factors,
    coalesce(i.sightings, 0) as sightings
from nodes as p
left join inside as i on p.session_uid = i.session_uid and p.id = i.paper_id
where p.node_kind = 'paper'
order by variables desc, sightings desc, p.session_id, p.session_uid, paper_id
limit coalesce($top::bigint, 50)
