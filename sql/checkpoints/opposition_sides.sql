-- On which side of a key each claim stands: what it is for or against, or what is said of a subject.
--
-- One pass over the relations and over the latest nodes, then over the sides that were known.
--
-- params:   after     bigint   not null  nodes that changed since
-- columns:  reason    varchar  not null  disputed, evidence or subject
--           key       varchar  not null  what is supported and opposed, the evidence, or the subject
--           side      varchar  not null  for or against
--           claim     varchar  not null  node id
--           record    varchar  not null  the edge or the node that says so
--           seq       bigint   not null  when it came to be so
--           question  varchar  null      the question that it was said in
with directed as (
    select
        record,
        stance,
        src,
        dst,
        seq,
        question
    from relations
    where reason = 'edge' and live and stance in ('for', 'against')
),

stated as (
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
),

fresh as (
    select
        'disputed' as reason,
        dst as key,
        stance as side,
        src as claim,
        record,
        seq,
        question
    from directed
    union all
    select
        'evidence' as reason,
        src as key,
        stance as side,
        dst as claim,
        record,
        seq,
        question
    from directed
    union all
    select
        'subject' as reason,
        subject as key,
        case when polarity in ('positive', 'for', '+', '1', 'true') then 'for' else 'against' end as side,
        id as claim,
        id as record,
        seq,
        'subject:' || subject as question
    from stated
    where
        subject <> ''
        and polarity in ('positive', 'for', '+', '1', 'true', 'negative', 'against', '-', '-1', 'false')
)

select
    reason,
    key,
    side,
    claim,
    record,
    seq,
    question
from fresh
union all
select
    e.reason,
    e.key,
    e.side,
    e.claim,
    e.record,
    e.seq,
    e.question
from earlier_sides as e
anti join changed as c on e.reason = c.reason and e.record = c.record
order by reason, key, side, claim, record
