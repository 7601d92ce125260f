-- The runs that count and measured something, what code each measured, and which are tries.
--
-- One pass over `runs`. A try is the segment's first finite keep, and each keep or discard
-- after it, unless the segment measured the same code before: that tells of noise alone. A metric
-- that is not below 1e150 has no square, and is left out.
--
-- columns:  session_id   varchar  not null  the session's name
--           session_uid  varchar  not null  its identity
--           segment      bigint   not null  experiment segment, from 1
--           direction    varchar  not null  minimize or maximize
--           seq          bigint   not null  seq of the run's record
--           id           varchar  not null  record id
--           ordinal      bigint   null      the run's number in its session, from 1
--           status       varchar  not null  keep, discard, confirm or pending
--           metric       double   not null  below 1e150
--           code         varchar  null      payload.code: runs with the same one measured the same code
--           replicates   varchar  null      payload.replicates, JSON
--           again        boolean  not null  the segment measured this code before
--           tried        boolean  not null  whether it is a try
with measured as (
    select
        *,
        json_extract_string(payload, '$.code') as code,
        min(seq) filter (where kept) over (partition by session_uid, segment) as first_seq
    from runs
    where
        counts
        and abs(metric) < 1e150
        and status in ('keep', 'discard', 'confirm', 'pending')
),

placed as (
    select
        *,
        code is not null
        and row_number() over (partition by session_uid, segment, code order by seq) > 1 as again
    from measured
)

select
    session_id,
    session_uid,
    segment,
    direction,
    seq,
    id,
    ordinal,
    status,
    metric,
    code,
    json_extract(payload, '$.replicates')::varchar as replicates,
    again,
    coalesce(
        seq = first_seq or (seq > first_seq and not again and status in ('keep', 'discard')), false
    ) as tried
from placed
