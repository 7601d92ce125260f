-- The buckets as they stand.
--
-- Reads every bucket; cost grows with the buckets ever written.
--
-- columns:  bucket_id    varchar  not null
--           label        varchar  not null
--           role         varchar  null
--           nodes        bigint   not null
--           merged_into  varchar  null
select id as bucket_id, label, role, nodes, merged_into
from buckets
order by id
