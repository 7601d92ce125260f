-- The keys that have claims on both sides; after an earlier run, of those that were touched.
--
-- One aggregate over who stands where. In no order.
--
-- params:   after           bigint   not null  the cursor that was read to, -1 where all is new
-- columns:  reason          varchar  not null  disputed, evidence or subject
--           key             varchar  not null
--           claims_for      bigint   not null  at most; some may be there twice
--           claims_against  bigint   not null
with stances as (
    select
        'disputed' as reason,
        dst as key,
        stance as side
    from relations
    where reason = 'edge' and live and stance in ('for', 'against')
    union all
    select
        'evidence' as reason,
        src as key,
        stance as side
    from relations
    where reason = 'edge' and live and stance in ('for', 'against')
    union all
    select
        'subject' as reason,
        key,
        side
    from subjects
)

select
    s.reason,
    s.key,
    count(*) filter (where s.side = 'for') as claims_for,
    count(*) filter (where s.side = 'against') as claims_against
from stances as s
left join touched as t on s.reason = t.reason and s.key = t.key
where $after < 0 or t.key is not null
group by s.reason, s.key
having min(s.side) <> max(s.side)
