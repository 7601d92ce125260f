-- Pairs of papers that share a key which is not hot.
--
-- A join by key; at most half as many pairs a key and paper as a key may have papers.
--
-- columns:  paper_id  varchar  not null  the lesser id
--           other_id  varchar  not null
with cold as (
    select
        k.key,
        k.number
    from work_keys as k
    anti join hot_keys as h on k.key = h.key
),

sharing as (
    select distinct
        one.number as number,
        other.number as other
    from cold as one
    inner join cold as other on one.key = other.key and one.number < other.number
)

select
    one.paper_id,
    other.paper_id as other_id
from sharing as s
inner join papers as one on s.number = one.number
inner join papers as other on s.other = other.number
order by one.paper_id, other.paper_id
