-- The parts of the field, the least covered first.
--
-- One row a bucket; cost grows with the revisions of buckets.
--
-- columns:  bucket_id        varchar  not null
--           label            varchar  not null
--           required         boolean  not null
--           coverage_status  varchar  not null
--           nodes            bigint   not null
--           papers           bigint   not null
--           claims           bigint   not null
--           open_gaps        varchar  null      JSON: what it lacks
select
    id as bucket_id,
    label,
    coalesce(required, false) as required,
    coverage_status,
    nodes,
    papers,
    claims,
    open_gaps
from buckets
order by
    case coverage_status
        when 'missing' then 1
        when 'thin' then 2
        when 'partial' then 3
        when 'covered' then 4
        else 5
    end,
    id
