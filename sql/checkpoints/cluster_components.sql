-- The component of each variable.
--
-- One row a variable.
--
-- columns:  node       bigint  not null
--           community  bigint  not null  the least number in it
select node, label as community
from cc_labels
order by node
