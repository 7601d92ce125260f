-- What each run that counts had in mind: its words, its change, what it assumed.
--
-- One pass over `runs`. Words are taken from the first 300 characters of the
-- description; fewer than three different ones are no idea.
--
-- columns:  session_id   varchar  not null  the session's name
--           session_uid  varchar  not null  its identity
--           segment      bigint   not null  experiment segment, from 1
--           seq          bigint   not null  seq of the run's record
--           id           varchar  not null  record id
--           ordinal      bigint   null      the run's number in its session, from 1
--           status       varchar  null
--           metric       double   null      null when missing or not finite
--           failed       boolean  not null  discard, crash, checks_failed or errored
--           idea         varchar  null      the description's words, sorted, each once
--           change       varchar  null      payload.change: fingerprint of what was changed
--           description  varchar  null
--           hypothesis   varchar  null      asi.hypothesis
--           assumption   varchar  null      asi.assumption: what a discard rested on
--           overturns    varchar  null      asi.overturns: an assumption, or the id of a run
with read as (
    select
        *,
        list_sort(list_distinct(
            regexp_extract_all(lower(left(description, 300)), '[\p{L}\p{N}_]+')
        )) as words
    from runs
    where counts
)

select
    session_id,
    session_uid,
    segment,
    seq,
    id,
    ordinal,
    status,
    metric,
    coalesce(status in ('discard', 'crash', 'checks_failed', 'errored'), false) as failed,
    case when len(words) >= 3 then array_to_string(words, ' ') end as idea,
    json_extract_string(payload, '$.change') as change,
    description,
    json_extract_string(payload, '$.asi.hypothesis') as hypothesis,
    json_extract_string(payload, '$.asi.assumption') as assumption,
    json_extract_string(payload, '$.asi.overturns') as overturns
from read
