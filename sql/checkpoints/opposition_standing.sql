-- Who stands where at the contested keys.
--
-- One pass over the relations and the subjects, joined by key. In no order.
--
-- params:   cap       bigint   not null  claims of a side that are paired
-- columns:  reason    varchar  not null  disputed, evidence or subject
--           key       varchar  not null
--           side      varchar  not null  for or against
--           claim     varchar  not null  node id
--           seq       bigint   not null  when it came to be so
--           question  varchar  null      the question that it was said in
--           crowded   boolean  not null  there may be more on a side than are paired
with stances as (
    select
        'disputed' as reason,
        dst as key,
        stance as side,
        src as claim,
        seq,
        question
    from relations
    where reason = 'edge' and live and stance in ('for', 'against')
    union all
    select
        'evidence' as reason,
        src as key,
        stance as side,
        dst as claim,
        seq,
        question
    from relations
    where reason = 'edge' and live and stance in ('for', 'against')
    union all
    select
        'subject' as reason,
        key,
        side,
        claim,
        seq,
        cast(null as varchar) as question
    from subjects
)

select
    s.reason,
    s.key,
    s.side,
    s.claim,
    s.seq,
    s.question,
    greatest(c.claims_for, c.claims_against) > $cap as crowded
from stances as s
inner join contested as c on s.reason = c.reason and s.key = c.key
