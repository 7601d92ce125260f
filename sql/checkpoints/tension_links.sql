-- Questions that are one because a live pair is a question of both: its first with each other one.
--
-- One window over the keys of the pairs, numbered.
--
-- columns:  node   bigint  not null  number of a question
--           other  bigint  not null  another one, greater
with firsts as (
    select
        n.node,
        min(n.node) over (partition by k.left_id, k.right_id) as first_node
    from tension_keys as k
    inner join tension_nodes as n on k.key = n.key
    where k.live
)

select distinct first_node as node, node as other
from firsts
where first_node < node
order by node, other
