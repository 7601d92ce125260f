-- The papers that have a title.
--
-- One row a paper; cost grows with the nodes ever written.
--
-- columns:  paper_id  varchar  not null
--           title     varchar  not null  as the provider gives it
--           doi       varchar  null
--           authors   varchar  null      names, parted by bars
select
    id as paper_id,
    title,
    doi,
    metadata ->> '$.authors' as authors
from nodes
where node_kind = 'paper' and title is not null
order by id
