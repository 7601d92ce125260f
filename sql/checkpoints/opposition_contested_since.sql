-- The keys that have claims on both sides, of those that were touched.
--
-- One pass over the sides, joined by key.
--
-- columns:  reason  varchar  not null  disputed, evidence or subject
--           key     varchar  not null
select
    s.reason,
    s.key
from sides as s
semi join touched as t on s.reason = t.reason and s.key = t.key
group by s.reason, s.key
having min(s.side) <> max(s.side)
order by s.reason, s.key
