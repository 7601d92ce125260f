-- The open obligations, those longest overdue first.
--
-- One row an obligation; cost grows with the revisions of obligations.
--
-- params:   most           bigint   not null
-- columns:  obligation_id  varchar  not null
--           content        varchar  not null  what must be answered
--           target_kind    varchar  not null
--           target_id      varchar  not null
--           overdue        bigint   not null  how often it was
select
    id as obligation_id,
    content,
    target_kind,
    target_id,
    coalesce(overdue, 0) as overdue
from obligations
where status = 'open'
order by coalesce(overdue, 0) desc, id
limit $most
