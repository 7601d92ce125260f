-- Every variable as a component of its own.
--
-- One row a variable.
--
-- columns:  node     bigint   not null
--           label    bigint   not null  the least number known in its component
--           changed  boolean  not null
select node, node as label, true as changed
from cluster_nodes
order by node
