-- Pairs of papers that share a key which is not hot.
--
-- A join by key; at most half as many pairs a key and paper as a key may have papers.
--
-- columns:  paper_id  varchar  not null  the lesser id
--           other_id  varchar  not null
with cold as (
    select
        k.key,
        k.paper_id
    from work_keys as k
    anti join hot_keys as h on k.key = h.key
)

select distinct
    one.paper_id,
    other.paper_id as other_id
from cold as one
inner join cold as other on one.key = other.key and one.paper_id < other.paper_id
order by one.paper_id, other.paper_id
