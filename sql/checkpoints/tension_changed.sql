-- The pairs that may have changed since an earlier run: they stand, or stood, at a touched key.
--
-- One pass over the pairs, and one over those of the earlier run. In no order.
--
-- columns:  left_id   varchar  not null  node id
--           right_id  varchar  not null  node id
select
    p.left_id,
    p.right_id
from pairs as p
semi join touched as t on p.reason = t.reason and p.key = t.key
union
select
    e.left_id,
    e.right_id
from earlier_pairs as e
semi join touched as t on e.reason = t.reason and e.key = t.key
