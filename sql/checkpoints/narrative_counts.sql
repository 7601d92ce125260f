-- How many records there are of each kind, as they stand.
--
-- One pass over each stream; cost grows with the records ever written.
--
-- columns:  what   varchar  not null  nodes, edges, calls, …
--           kind   varchar  not null  their kind, status or coverage
--           found  bigint   not null
select 'nodes' as what, node_kind as kind, count(*) as found
from nodes
group by node_kind
union all
select 'variables met' as what, 'in results' as kind, count(distinct node_id) as found
from sightings
union all
select 'appearances' as what, 'in results' as kind, count(*) as found
from sightings
union all
select 'edges' as what, edge_kind as kind, count(*) as found
from edges
where coalesce(status, 'active') = 'active'
group by edge_kind
union all
select 'calls' as what, status as kind, count(*) as found
from frontier
group by status
union all
select 'steps' as what, 'submitted' as kind, count(*) as found
from events
where type = 'batch.submitted'
union all
select 'nodes placed' as what, state as kind, count(distinct node_id) as found
from memberships
group by state
union all
select 'parts of the field' as what, coverage_status as kind, count(*) as found
from buckets
group by coverage_status
union all
select 'focuses' as what, status as kind, count(*) as found
from focuses
group by status
union all
select 'obligations' as what, status as kind, count(*) as found
from obligations
group by status
union all
select 'packets' as what, status as kind, count(*) as found
from packets
group by status
union all
select 'relations' as what, status as kind, count(*) as found
from candidates
group by status
union all
select 'decisions' as what, action || ' ' || outcome as kind, count(*) as found
from promotions
group by action || ' ' || outcome
union all
select 'repair contexts' as what, status as kind, count(*) as found
from repair_contexts
group by status
union all
select 'projections' as what, state as kind, count(*) as found
from projections
group by state
order by what, kind
