-- The nodes that came most often in results, with the place that was their best.
--
-- One pass over the sightings, and a join by node; cost grows with both.
--
-- params:   most       bigint   not null
-- columns:  node_id    varchar  not null
--           text       varchar  null      its title, else its content
--           sightings  bigint   not null
--           best_rank  bigint   not null  from 1
with counted as (
    select
        node_id,
        count(*) as sightings,
        min(rank) as best_rank
    from sightings
    group by node_id
)

select
    c.node_id,
    coalesce(n.title, n.content) as text,
    c.sightings,
    c.best_rank
from counted as c
inner join nodes as n on c.node_id = n.id
order by c.sightings desc, c.best_rank, c.node_id
limit $most
