-- The keys that have claims on both sides.
--
-- One aggregate over the sides.
--
-- columns:  reason  varchar  not null  disputed, evidence or subject
--           key     varchar  not null
select
    reason,
    key
from sides
group by reason, key
having min(side) <> max(side)
order by reason, key
