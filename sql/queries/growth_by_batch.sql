-- What each submitted batch brought, and what the session had come to.
--
-- Reads the events alone; cost grows with the batches ever submitted.
--
-- columns:  session_id   varchar      not null  the session's name
--           seq          bigint       not null  seq of the batch's event, its last record
--           committed_at timestamptz  not null  by the writer's clock, UTC
--           responses    bigint       not null  taken
--           failed       bigint       not null  of these, failed
--           hits         bigint       not null
--           new          bigint       not null  variables that were never a hit before
--           new_share    double       null      of the hits, the new ones; null without hits
--           papers       bigint       not null  new papers
--           edges        bigint       not null  new edges
--           all_new      bigint       not null  variables with a hit so far
--           all_papers   bigint       not null  papers so far
with submitted as (
    select
        session_id,
        session_uid,
        seq,
        committed_at,
        coalesce((payload ->> '$.counts.responses')::bigint, 0) as responses,
        coalesce((payload ->> '$.counts.failed')::bigint, 0) as failed,
        coalesce((payload ->> '$.counts.hits')::bigint, 0) as hits,
        coalesce((payload ->> '$.counts.new')::bigint, 0) as new,
        coalesce((payload ->> '$.counts.papers')::bigint, 0) as papers,
        coalesce((payload ->> '$.counts.edges')::bigint, 0) as edges
    from events
    where type = 'batch.submitted'
)

select
    session_id,
    seq,
    committed_at,
    responses,
    failed,
    hits,
    new,
    new / nullif(hits, 0) as new_share,
    papers,
    edges,
    (sum(new) over so_far)::bigint as all_new,
    (sum(papers) over so_far)::bigint as all_papers
from submitted
window so_far as (partition by session_uid order by seq)
order by session_id, session_uid, seq
