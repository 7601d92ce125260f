-- The claims on either side of the contested keys, once each, numbered from the oldest.
--
-- One pass over the sides, joined by key.
--
-- columns:  reason    varchar  not null  disputed, evidence or subject
--           key       varchar  not null
--           side      varchar  not null  for or against
--           claim     varchar  not null  node id
--           seq       bigint   not null  of the latest record that says so
--           question  varchar  null
--           place     bigint   not null  from 1, on its side of its key
with once as (
    select
        s.reason,
        s.key,
        s.side,
        s.claim,
        max(s.seq) as seq,
        min(s.question) as question
    from sides as s
    semi join contested as c on s.reason = c.reason and s.key = c.key
    group by s.reason, s.key, s.side, s.claim
)

select
    reason,
    key,
    side,
    claim,
    seq,
    question,
    row_number() over (partition by reason, key, side order by seq, claim) as place
from once
order by reason, key, side, place
