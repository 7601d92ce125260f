-- Every session with what it holds.
--
-- Counts all streams once; cost grows with the records.
--
-- columns:  session_id    varchar      not null  the session's name
--           kind          varchar      not null  graph or experiment
--           title         varchar      not null  may be empty
--           status        varchar      not null  active where nothing else was recorded
--           cursor        bigint       not null  the last committed seq
--           records       bigint       not null  records of all streams
--           nodes         bigint       not null  as they stand
--           edges         bigint       not null  as they stand
--           calls         bigint       not null  as they stand
--           failed_calls  bigint       not null  of these, failed
--           runs          bigint       not null  that count
--           kept_runs     bigint       not null  of these, kept
--           first_at      timestamptz  null      UTC, of the first record
--           last_at       timestamptz  null      UTC, of the last record
with held as (
    select
        session_uid,
        count(*) as records,
        arg_min(committed_at, seq) as first_at,
        arg_max(committed_at, seq) as last_at
    from records
    group by session_uid
),

node_counts as (
    select session_uid, count(*) as nodes from nodes group by session_uid
),

edge_counts as (
    select session_uid, count(*) as edges from edges group by session_uid
),

call_counts as (
    select
        session_uid,
        count(*) as calls,
        count(*) filter (where status = 'failed') as failed_calls
    from frontier
    group by session_uid
),

run_counts as (
    select session_uid, count(*) as runs, count(*) filter (where kept) as kept_runs
    from runs
    where counts
    group by session_uid
)

select
    s.session_id,
    s.kind,
    s.title,
    s.status,
    s.cursor,
    coalesce(h.records, 0) as records,
    coalesce(n.nodes, 0) as nodes,
    coalesce(e.edges, 0) as edges,
    coalesce(c.calls, 0) as calls,
    coalesce(c.failed_calls, 0) as failed_calls,
    coalesce(r.runs, 0) as runs,
    coalesce(r.kept_runs, 0) as kept_runs,
    h.first_at,
    h.last_at
from sessions as s
left join held as h using (session_uid)
left join node_counts as n using (session_uid)
left join edge_counts as e using (session_uid)
left join call_counts as c using (session_uid)
left join run_counts as r using (session_uid)
order by s.session_id
