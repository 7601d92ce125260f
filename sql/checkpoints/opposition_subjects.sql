-- What each claim says of its subject, as the latest nodes have it.
--
-- One pass over the latest nodes that changed, then over what was known.
--
-- params:   after     bigint   not null  nodes that changed since
-- columns:  key       varchar  not null  the subject, in lower case
--           side      varchar  not null  for or against
--           claim     varchar  not null  node id
--           seq       bigint   not null  of the node
with stated as (
    select
        id,
        seq,
        lower(trim(regexp_replace(metadata ->> '$.subject', '[\s_-]+', ' ', 'g'))) as subject,
        lower(trim(metadata ->> '$.polarity')) as polarity
    from nodes
    where
        seq > $after
        and node_kind = 'variable'
        and coalesce(variable_type, 'claim') = 'claim'
        and metadata like '%"polarity"%'
)

select
    subject as key,
    'for' as side,
    id as claim,
    seq
from stated
where subject <> '' and polarity in ('positive', 'for', '+', '1', 'true')
union all
select
    subject as key,
    'against' as side,
    id as claim,
    seq
from stated
where subject <> '' and polarity in ('negative', 'against', '-', '-1', 'false')
union all
select
    e.key,
    e.side,
    e.claim,
    e.seq
from earlier_subjects as e
anti join (select id from nodes where seq > $after) as n on e.claim = n.id
order by seq
