-- What the field still lacks, bucket by bucket, required ones first.
--
-- Unnests the gaps of the latest buckets; cost grows with the revisions of buckets.
--
-- columns:  session_id       varchar  not null  the session's name
--           bucket_id        varchar  not null
--           label            varchar  not null  what the bucket is about
--           required         boolean  not null  whether the session has to cover it
--           coverage_status  varchar  not null  missing, thin, partial, covered or out_of_scope
--           kind             varchar  null      what kind of gap it is
--           gap              varchar  not null  JSON: the gap as the field map has it
--           nodes            bigint   not null  nodes of the bucket
--           open_focuses     bigint   not null  focuses that are tied to it and not closed
with tied as (
    select session_uid, unnest(bucket_ids) as bucket_id
    from focuses
    where status <> 'closed'
),

counted as (
    select session_uid, bucket_id, count(*) as open_focuses
    from tied
    group by session_uid, bucket_id
),

gaps as (
    select
        session_id,
        session_uid,
        id,
        label,
        coalesce(required, false) as required,
        coverage_status,
        nodes,
        unnest(json_extract(open_gaps, '$[*]')) as gap
    from buckets
)

select
    g.session_id,
    g.id as bucket_id,
    g.label,
    g.required,
    g.coverage_status,
    json_extract_string(g.gap, '$.kind') as kind,
    g.gap::varchar as gap,
    g.nodes,
    coalesce(c.open_focuses, 0) as open_focuses
from gaps as g
left join counted as c on g.session_uid = c.session_uid and g.id = c.bucket_id
order by g.session_id, g.required desc, g.nodes, g.id, gap
