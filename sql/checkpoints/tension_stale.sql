-- The pairs that are grouped anew: those that changed, and all of the regions that these are in.
--
-- One pass over the pairs of the earlier run. In no order.
--
-- columns:  left_id   varchar  not null  node id
--           right_id  varchar  not null  node id
select
    p.left_id,
    p.right_id
from earlier_tension_pairs as p
semi join regions as r on p.region = r.region
union
select
    left_id,
    right_id
from stale
