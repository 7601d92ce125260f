-- The tensions that are measured anew: of pairs that were grouped anew, before and by now, and of
-- claims and focuses that changed.
--
-- A pass over the pairs, over those of the earlier run, and over the latest nodes and focuses.
--
-- params:   after       bigint   not null  the cursor that was read to
-- columns:  tension_id  varchar  not null
with changed as (
    select id from nodes where seq > $after
)

select t.tension_id
from tension_pairs as t
semi join stale as s on t.left_id = s.left_id and t.right_id = s.right_id
union
select e.tension_id
from earlier_tension_pairs as e
semi join stale as s on e.left_id = s.left_id and e.right_id = s.right_id
union
select t.tension_id
from tension_pairs as t
semi join changed as n on t.left_id = n.id
union
select t.tension_id
from tension_pairs as t
semi join changed as n on t.right_id = n.id
union
select t.tension_id
from tension_pairs as t
semi join (select 'focus:' || id as key from focuses where seq > $after) as f on t.key = f.key
order by tension_id
