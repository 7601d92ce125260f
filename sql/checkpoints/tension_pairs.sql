-- The tension of each pair: those that share a question are one.
--
-- One pass over the keys of the pairs that are grouped anew, and over the others. Pairs that no
-- question names are one tension where they hang together by their claims; more than so many claims
-- fall apart again, around those with most pairs.
--
-- params:   wide        bigint   not null  claims that hang together by nothing else
-- columns:  tension_id  varchar  not null
--           key         varchar  not null  what it is a question of: group, focus, subject or claim
--           left_id     varchar  not null  node id
--           right_id    varchar  not null  node id
--           live        boolean  not null  whether anything sets them against each other still
--           region      varchar  not null  the least question that it hangs together with by any pair
with least_of as (
    select
        k.left_id,
        k.right_id,
        k.live,
        min(l.label) as label,
        min(l.region) as region
    from tension_keys as k
    inner join tension_nodes as n on k.key = n.key
    inner join tension_labels as l on n.node = l.node
    group by k.left_id, k.right_id, k.live
),

labelled as (
    select
        p.left_id,
        p.right_id,
        p.live,
        n.key as label,
        r.key as region
    from least_of as p
    inner join tension_nodes as n on p.label = n.node
    inner join tension_nodes as r on p.region = r.node
),

ends as (
    select
        label,
        left_id as claim
    from labelled
    where label like 'claim:%'
    union all
    select
        label,
        right_id as claim
    from labelled
    where label like 'claim:%'
),

degrees as (
    select
        label,
        claim,
        count(*) as pairs
    from ends
    group by label, claim
),

wide as (
    select label
    from degrees
    group by label
    having count(*) > $wide
),

split as (
    select
        d.label,
        d.claim,
        d.pairs
    from degrees as d
    semi join wide as w on d.label = w.label
),

settled as (
    select
        p.left_id,
        p.right_id,
        p.live,
        p.region,
        case
            when a.claim is null then p.label
            when a.pairs >= b.pairs then 'claim:' || a.claim
            else 'claim:' || b.claim
        end as key
    from labelled as p
    left join split as a on p.label = a.label and p.left_id = a.claim
    left join split as b on p.label = b.label and p.right_id = b.claim
)

select
    'tension_' || substring(md5(key), 1, 16) as tension_id,
    key,
    left_id,
    right_id,
    live,
    region
from settled
union all
select
    e.tension_id,
    e.key,
    e.left_id,
    e.right_id,
    e.live,
    e.region
from earlier_tension_pairs as e
anti join regions as r on e.region = r.region
order by tension_id, left_id, right_id
