-- The regions of the earlier run in which something changed: those of the pairs that did, and of
-- the questions that they are of by now.
--
-- One pass over the questions of the earlier run, and one over its pairs. In no order.
--
-- columns:  region  varchar  not null  the least question in it
select q.region
from earlier_questions as q
semi join tension_keys as k on q.key = k.key
union
select p.region
from earlier_tension_pairs as p
semi join stale as s on p.left_id = s.left_id and p.right_id = s.right_id
