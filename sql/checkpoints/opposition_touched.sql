-- The keys whose pairs have to be found anew: those that a changed record stood at, or stands at.
--
-- Reads what is newer, the edges of candidates that are, and what newer edges and nodes replaced.
--
-- params:   after   bigint   not null  the cursor that was read to
-- columns:  reason  varchar  not null  edge, disputed, evidence, candidate or subject
--           key     varchar  not null  the record's id for an edge and a candidate
with moved as (
    select id from candidates where seq > $after
),

edges_moved as (
    select
        id,
        src,
        dst
    from edges
    where seq > $after
    union all
    select
        e.id,
        e.src,
        e.dst
    from edges as e
    semi join moved as m on e.candidate_id = m.id
    union all
    select
        e.id,
        e.src,
        e.dst
    from streams.edges as e
    semi join (select prev_seq from streams.edges where seq > $after) as n on e.seq = n.prev_seq
)

select
    'edge' as reason,
    id as key
from edges_moved
union
select
    'disputed' as reason,
    dst as key
from edges_moved
union
select
    'evidence' as reason,
    src as key
from edges_moved
union
select
    'candidate' as reason,
    id as key
from moved
union
select
    'subject' as reason,
    key
from subjects
where seq > $after
union
select
    'subject' as reason,
    e.key
from earlier_subjects as e
semi join (select id from nodes where seq > $after) as n on e.claim = n.id
order by reason, key
