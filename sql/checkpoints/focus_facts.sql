-- What each open focus calls for, from the records as they stand.
--
-- Keyed joins; cost grows with the memberships, as often as a bucket has focuses.
-- An answer is an assessed packet of the focus; what came since came after its last one.
--
-- columns:  focus_id          varchar  not null
--           question          varchar  not null
--           status            varchar  not null  candidate or accepted
--           priority          varchar  not null  high, medium or low, as it stands
--           buckets           bigint   not null  open ones that it is tied to
--           missing           bigint   not null  of those, by their coverage
--           thin              bigint   not null
--           partial           bigint   not null
--           covered           bigint   not null
--           required          boolean  not null  a required one is not covered
--           controversy       boolean  not null  something speaks against something, undecided
--           open_obligations  bigint   not null
--           overdue           bigint   not null  of those, left open too long
--           evidence_since    bigint   not null  nodes assigned to its buckets since
--           steps_since       bigint   not null  continuation steps since
--           answered          boolean  not null  whether it ever was
with open_focuses as (
    select
        id as focus_id,
        question,
        status,
        priority,
        bucket_ids,
        coalesce(features ->> '$.controversy', 'false') = 'true' as controversy
    from focuses
    where status in ('candidate', 'accepted')
),

answers as (
    select
        focus_id,
        max(seq) as seq
    from packets
    where status = 'assessed'
    group by focus_id
),

heads as (
    select
        f.focus_id,
        coalesce(a.seq, 0) as since
    from open_focuses as f
    left join answers as a on f.focus_id = a.focus_id
),

ties as (
    select
        focus_id,
        unnest(bucket_ids) as bucket_id
    from open_focuses
),

fields as (
    select
        t.focus_id,
        count(*) as buckets,
        count_if(b.coverage_status = 'missing') as missing,
        count_if(b.coverage_status = 'thin') as thin,
        count_if(b.coverage_status = 'partial') as partial,
        count_if(b.coverage_status = 'covered') as covered,
        bool_or(
            coalesce(b.required, false)
            and b.coverage_status not in ('covered', 'out_of_scope')
        ) as required
    from ties as t
    inner join buckets as b on t.bucket_id = b.id
    group by t.focus_id
),

pressing as (
    select
        focus_id,
        count(*) as open_obligations,
        count_if(overdue > 0) as overdue
    from obligations
    where status = 'open' and focus_id is not null
    group by focus_id
),

disputes as (
    select
        focus_id,
        count(*) as open_disputes
    from candidates
    where
        relation_type = 'opposes'
        and status in ('candidate', 'deferred')
        and focus_id is not null
    group by focus_id
),

arrivals as (
    select
        t.focus_id,
        count(distinct m.node_id) as evidence_since
    from ties as t
    inner join heads as h on t.focus_id = h.focus_id
    inner join memberships as m on t.bucket_id = m.bucket_id
    where m.state = 'assigned' and m.seq > h.since
    group by t.focus_id
),

marks as (
    select
        seq,
        1 as step,
        null as focus_id
    from events
    where type = 'batch.submitted'
    union all
    select
        since as seq,
        0 as step,
        focus_id
    from heads
),

passed as (
    select
        focus_id,
        sum(step) over (order by seq desc, step desc)::bigint as steps_since
    from marks
)

select
    f.focus_id,
    f.question,
    f.status,
    f.priority,
    coalesce(b.buckets, 0) as buckets,
    coalesce(b.missing, 0)::bigint as missing,
    coalesce(b.thin, 0)::bigint as thin,
    coalesce(b.partial, 0)::bigint as partial,
    coalesce(b.covered, 0)::bigint as covered,
    coalesce(b.required, false) as required,
    f.controversy or coalesce(d.open_disputes, 0) > 0 as controversy,
    coalesce(o.open_obligations, 0) as open_obligations,
    coalesce(o.overdue, 0)::bigint as overdue,
    coalesce(a.evidence_since, 0) as evidence_since,
    p.steps_since,
    h.since > 0 as answered
from open_focuses as f
inner join heads as h on f.focus_id = h.focus_id
inner join passed as p on f.focus_id = p.focus_id
left join fields as b on f.focus_id = b.focus_id
left join pressing as o on f.focus_id = o.focus_id
left join disputes as d on f.focus_id = d.focus_id
left join arrivals as a on f.focus_id = a.focus_id
order by f.focus_id
