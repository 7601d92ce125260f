-- The records that changed since, each under every reason that it may have given.
--
-- Reads what is newer, and the edges of candidates that are.
--
-- params:   after   bigint   not null  the cursor that was read to
-- columns:  reason  varchar  not null  edge, disputed, evidence, candidate or subject
--           record  varchar  not null  id of an edge, a candidate or a node
with moved as (
    select id from candidates where seq > $after
),

edges_moved as (
    select id from edges where seq > $after
    union
    select e.id from edges as e semi join moved as m on e.candidate_id = m.id
)

select
    'edge' as reason,
    id as record
from edges_moved
union all
select
    'disputed' as reason,
    id as record
from edges_moved
union all
select
    'evidence' as reason,
    id as record
from edges_moved
union all
select
    'candidate' as reason,
    id as record
from moved
union all
select
    'subject' as reason,
    id as record
from nodes
where seq > $after
order by reason, record
