-- The hubs with so many variables that each is tied to some of them only, the largest first.
--
-- One pass over the hubs.
--
-- params:   most     bigint   not null  variables that one is tied to on each side of the circle
-- columns:  hub      varchar  not null
--           members  bigint   not null
select hub, members
from cluster_hubs
where place = 0 and members > 2 * $most + 1
order by members desc, hub
limit 100
