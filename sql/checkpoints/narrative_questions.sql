-- The open focuses, in the order of their scores.
--
-- One row a focus; cost grows with the revisions of focuses.
--
-- params:   most              bigint   not null
-- columns:  focus_id          varchar  not null
--           question          varchar  not null
--           status            varchar  not null  candidate or accepted
--           priority          varchar  not null
--           readiness         varchar  not null
--           open_obligations  bigint   not null
--           score             double   not null
select
    id as focus_id,
    question,
    status,
    priority,
    readiness,
    coalesce(open_obligations, 0) as open_obligations,
    score
from focuses
where status in ('candidate', 'accepted')
order by score desc, id
limit $most
