-- The calls that failed and that no later one made good.
--
-- A join by what calls and their retries have in common; cost grows with the calls.
--
-- params:   most       bigint   not null
-- columns:  call_id    varchar  not null
--           item_kind  varchar  not null
--           code       bigint   null      the provider's
--           message    varchar  null      the provider's
--           asked      varchar  null      what it asked, else what it has in common with its retries
--           in_all     bigint   not null  how many there are
with done as (
    select
        dedup_key,
        max(seq) as seq
    from frontier
    where status = 'done' and dedup_key is not null
    group by dedup_key
)

select
    f.id as call_id,
    f.item_kind,
    f.code,
    f.message,
    coalesce(f.request ->> '$.text', f.dedup_key) as asked,
    count(*) over () as in_all
from frontier as f
left join done as d on f.dedup_key = d.dedup_key and f.seq < d.seq
where f.status = 'failed' and d.seq is null
order by f.id
limit $most
