-- The calls that failed, each with the retry that settled it, if one did.
--
-- Joins the calls to their retries once; cost grows with the calls.
--
-- columns:  session_id    varchar      not null  the session's name
--           id            varchar      not null  call id
--           item_kind     varchar      not null  query, paper, claim_chain or obligation
--           dedup_key     varchar      null      what a call and its retries have in common
--           attempt       bigint       null      from 1
--           code          bigint       null      the provider's
--           message       varchar      null      the provider's
--           trace_id      varchar      null      the provider's
--           failed_at     timestamptz  not null  by the writer's clock, UTC
--           request       varchar      null      JSON
--           settled_by    varchar      null      id of a later call of the same key that is done
with done as (
    select session_uid, dedup_key, arg_max(id, seq) as id, max(seq) as seq
    from frontier
    where status = 'done' and dedup_key is not null
    group by session_uid, dedup_key
)

select
    f.session_id,
    f.id,
    f.item_kind,
    f.dedup_key,
    f.attempt,
    f.code,
    f.message,
    f.trace_id,
    f.committed_at as failed_at,
    f.request,
    d.id as settled_by
from frontier as f
left join done as d
    on f.session_uid = d.session_uid and f.dedup_key = d.dedup_key and f.seq < d.seq
where f.status = 'failed'
order by f.session_id, f.session_uid, f.seq
