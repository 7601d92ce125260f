-- What several variables have in common: a response, a paper, or a step of a chain.
--
-- One row a variable and thing; cost grows with sightings and edges.
--
-- params:   response  bigint   not null  what being found together ties, in thousandths
--           paper     bigint   not null  what standing in one paper ties
--           chain     bigint   not null  what being premise or conclusion of one step ties
-- columns:  hub       varchar  not null  the thing
--           node      bigint   not null
--           place     bigint   not null  of the variable among those of the hub, from 0
--           members   bigint   not null  variables of the hub
--           weight    bigint   not null  of all ties of one variable in this hub, in thousandths
with members as (
    select concat('response ', response_id) as hub, node_id, $response::bigint as weight
    from sightings
    where response_id is not null
    union
    select concat('paper ', dst) as hub, src as node_id, $paper::bigint as weight
    from edges
    where edge_kind = 'in_paper' and status is distinct from 'retracted'
    union
    select concat('chain ', dst) as hub, src as node_id, $chain::bigint as weight
    from edges
    where edge_kind = 'premise_of' and status is distinct from 'retracted'
    union
    select concat('chain ', src) as hub, dst as node_id, $chain::bigint as weight
    from edges
    where edge_kind = 'concludes' and status is distinct from 'retracted'
)

select
    m.hub,
    n.node,
    row_number() over (partition by m.hub order by n.node) - 1 as place,
    count(*) over (partition by m.hub) as members,
    m.weight
from members as m
inner join cluster_nodes as n on m.node_id = n.id
where m.weight > 0
order by m.hub, n.node
