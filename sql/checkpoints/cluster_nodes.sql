-- The variables of a session, numbered from 0.
--
-- One row a variable; cost grows with the nodes ever written.
--
-- columns:  node  bigint   not null  its number, in the order of ids
--           id    varchar  not null
select row_number() over (order by id) - 1 as node, id
from nodes
where node_kind = 'variable'
order by node
