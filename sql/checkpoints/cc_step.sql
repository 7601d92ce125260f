-- The least label that a variable, or one that it leads to, has among its neighbours.
--
-- Hook and shortcut: a node's component takes the least label that a neighbour offers, and
-- each label is followed one step further. Keyed joins; cost grows with links and variables.
-- Steps until nothing changes grow with the logarithm of a component's width.
--
-- columns:  node     bigint   not null
--           label    bigint   not null
--           changed  boolean  not null  by this step
with nearest as (
    select e.node, min(l.label) as label
    from cc_edges as e
    inner join cc_labels as l on e.other = l.node
    group by e.node
),

offered as (
    select node, label from cc_labels
    union all
    select node, label from nearest
    union all
    select l.label as node, n.label
    from nearest as n
    inner join cc_labels as l on n.node = l.node
    where n.label < l.label
),

hooked as (
    select node, min(label) as label
    from offered
    group by node
)

select
    h.node,
    least(h.label, g.label) as label,
    least(h.label, g.label) < l.label as changed
from hooked as h
inner join hooked as g on h.label = g.node
inner join cc_labels as l on h.node = l.node
order by h.node
