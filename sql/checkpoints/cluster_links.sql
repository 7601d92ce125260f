-- How strongly two variables are tied: by what they have in common, and by relations.
--
-- A join by hub and place. In a hub each variable is tied to the few that follow it in a
-- circle, so that a hub of many costs as much a member as a small one.
--
-- params:   relation  bigint  not null  what a relation between two variables ties
--           most      bigint  not null  variables that one is tied to on each side of the circle
-- columns:  node      bigint  not null  the lesser number
--           other     bigint  not null
--           weight    bigint  not null  in thousandths
with ties as (
    select
        least(a.node, b.node) as node,
        greatest(a.node, b.node) as other,
        a.weight // least(a.members - 1, 2 * $most) as weight
    from cluster_hubs as a
    inner join cluster_steps as s
        on
            2 * s.step < a.members
            or (2 * s.step = a.members and a.place < s.step)
    inner join cluster_hubs as b on a.hub = b.hub and (a.place + s.step) % a.members = b.place
    where a.members > 1
    union all
    select
        least(x.node, y.node) as node,
        greatest(x.node, y.node) as other,
        $relation::bigint as weight
    from edges as e
    inner join cluster_nodes as x on e.src = x.id
    inner join cluster_nodes as y on e.dst = y.id
    where e.status is distinct from 'retracted' and e.src <> e.dst
)

select node, other, sum(weight)::bigint as weight
from ties
where weight > 0
group by node, other
order by node, other
