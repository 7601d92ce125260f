-- The community of every variable, the largest community first.
--
-- One row a variable. Of two communities as large as each other the one with the lesser
-- id comes first; a variable that is tied to none is a community of its own.
--
-- columns:  node_id    varchar  not null
--           community  bigint   not null  from 0
--           size       bigint   not null  variables in it
with sizes as (
    select community, count(*) as size, min(node) as first_node
    from cluster_found
    group by community
),

numbered as (
    select community, size, row_number() over (order by size desc, first_node) - 1 as number
    from sizes
)

select n.id as node_id, s.number as community, s.size
from cluster_found as f
inner join numbered as s on f.community = s.community
inner join cluster_nodes as n on f.node = n.node
order by s.number, n.id
