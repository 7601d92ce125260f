-- Keys with more claims on a side, or in an exclusive candidate, than are paired.
--
-- One aggregate over the places, which are those of keys that may have more; those of untouched
-- keys are as they were.
--
-- params:   after           bigint   not null  candidates that changed since
--           cap             bigint   not null  claims of a side that are paired
-- columns:  reason          varchar  not null  disputed, evidence, subject or candidate
--           key             varchar  not null
--           claims_for      bigint   not null  of a candidate: all of its claims
--           claims_against  bigint   not null
--           paired_for      bigint   not null  of them, those that are paired: the oldest
--           paired_against  bigint   not null
with counted as (
    select
        reason,
        key,
        count(*) filter (where side = 'for') as claims_for,
        count(*) filter (where side = 'against') as claims_against
    from places
    group by reason, key
    union all
    select
        'candidate' as reason,
        id as key,
        array_length(claim_refs) as claims_for,
        array_length(claim_refs) as claims_against
    from candidates
    where seq > $after and pattern = 'exclusive'
)

select
    reason,
    key,
    claims_for,
    claims_against,
    least(claims_for, $cap) as paired_for,
    least(claims_against, $cap) as paired_against
from counted
where greatest(claims_for, claims_against) > $cap
union all
select
    e.reason,
    e.key,
    e.claims_for,
    e.claims_against,
    e.paired_for,
    e.paired_against
from earlier_hot_keys as e
anti join touched as t on e.reason = t.reason and e.key = t.key
order by reason, key
