-- Claims that something sets against each other: a row a pair and what sets them so.
--
-- A join by key, of claims up to the cap; then one pass over the pairs that were known.
--
-- params:   after     bigint   not null  relations that changed since
--           cap       bigint   not null  claims of a side that are paired
-- columns:  left_id   varchar  not null  node id, the smaller one
--           right_id  varchar  not null  node id
--           reason    varchar  not null  edge, candidate, disputed, evidence or subject
--           key       varchar  not null  the edge, the candidate, the claim, the evidence, the subject
--           seq       bigint   not null  when it came to be so
--           live      boolean  not null  it was not taken back
--           question  varchar  null      what it is a question of, where that is known
--           words     varchar  null      hash of the candidate's claim where it is not
--           weight    bigint   not null  how much it says: 6 a promoted candidate, 1 both sides of a dispute
with counted as (
    select
        reason,
        key,
        side,
        claim,
        seq,
        question
    from standing
    where not crowded
    union all
    select
        reason,
        key,
        side,
        claim,
        seq,
        question
    from places
    where place <= $cap
)

select
    least(f.claim, a.claim) as left_id,
    greatest(f.claim, a.claim) as right_id,
    f.reason,
    f.key,
    greatest(f.seq, a.seq) as seq,
    true as live,
    'subject:' || f.key as question,
    cast(null as varchar) as words,
    cast(2 as bigint) as weight
from counted as f
inner join counted as a on f.key = a.key
where f.reason = 'subject' and a.reason = 'subject' and f.side = 'for' and a.side = 'against'
union all
select
    least(f.claim, a.claim) as left_id,
    greatest(f.claim, a.claim) as right_id,
    f.reason,
    f.key,
    max(greatest(f.seq, a.seq)) as seq,
    true as live,
    coalesce(min(a.question), min(f.question)) as question,
    cast(null as varchar) as words,
    cast(case when f.reason = 'disputed' then 1 else 2 end as bigint) as weight
from counted as f
inner join counted as a on f.reason = a.reason and f.key = a.key
where f.reason <> 'subject' and a.reason <> 'subject' and f.side = 'for' and a.side = 'against' and f.claim <> a.claim
group by least(f.claim, a.claim), greatest(f.claim, a.claim), f.reason, f.key
union all
select
    least(src, dst) as left_id,
    greatest(src, dst) as right_id,
    reason,
    record as key,
    seq,
    live,
    question,
    words,
    weight
from relations
where stance <> 'for' and seq > $after
union all
select
    e.left_id,
    e.right_id,
    e.reason,
    e.key,
    e.seq,
    e.live,
    e.question,
    e.words,
    e.weight
from earlier_pairs as e
anti join touched as t on e.reason = t.reason and e.key = t.key
order by left_id, right_id, reason, key
