-- The papers that have a title.
--
-- One row a paper; cost grows with the nodes ever written.
--
-- columns:  number    bigint   not null  from 1, in the order of ids
--           paper_id  varchar  not null
--           title     varchar  not null  as the provider gives it
--           doi       varchar  null
--           authors   varchar  null      names, parted by bars
select
    row_number() over (order by id) as number,
    id as paper_id,
    title,
    doi,
    metadata ->> '$.authors' as authors
from nodes
where node_kind = 'paper' and title is not null
order by id
