-- The claims on either side of the keys that have many, once each, numbered from the oldest.
--
-- One pass over the claims of these keys. In no order.
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
        reason,
        key,
        side,
        claim,
        max(seq) as seq,
        min(question) as question
    from standing
    where crowded
    group by reason, key, side, claim
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
