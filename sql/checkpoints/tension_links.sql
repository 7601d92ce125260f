-- Questions that hang together because a pair is one of both: its first with each other one.
--
-- One window over the keys of the pairs, numbered. In no order.
--
-- columns:  node   bigint   not null  number of a question
--           other  bigint   not null  another one, greater
--           live   boolean  not null  a live pair is, and so they are one question
with firsts as (
    select
        n.node,
        k.live,
        min(n.node) over (partition by k.left_id, k.right_id) as first_node
    from tension_keys as k
    inner join tension_nodes as n on k.key = n.key
)

select
    first_node as node,
    node as other,
    bool_or(live) as live
from firsts
where first_node < node
group by first_node, node
