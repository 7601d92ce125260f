-- The questions, numbered from 0.
--
-- One aggregate over the keys of the pairs. In no order.
--
-- columns:  node  bigint   not null  its number, in the order of the keys
--           key   varchar  not null  group, focus, subject, claim or words
select row_number() over (order by key) - 1 as node, key
from (select distinct key from tension_keys) as once
