-- The keys whose pairs have to be found anew: those that a changed record stood at, or stands at.
--
-- One pass over the sides before and after, joined by record.
--
-- columns:  reason  varchar  not null  edge, disputed, evidence, candidate or subject
--           key     varchar  not null  the record's id for an edge and a candidate
select
    e.reason,
    e.key
from earlier_sides as e
semi join changed as c on e.reason = c.reason and e.record = c.record
union
select
    s.reason,
    s.key
from sides as s
semi join changed as c on s.reason = c.reason and s.record = c.record
union
select
    reason,
    record as key
from changed
where reason in ('edge', 'candidate')
order by reason, key
