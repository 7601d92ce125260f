-- The nodes that merges and splits would bring into another bucket.
--
-- A join by bucket and community.
--
-- columns:  source   varchar  not null  the bucket that a node is in
--           target   varchar  not null  the one that it would be in
--           node_id  varchar  not null
select s.bucket_id as source, m.target, s.node_id
from cluster_standing as s
inner join cluster_merges as m on s.bucket_id = m.bucket_id
union all
select s.bucket_id as source, p.target, s.node_id
from cluster_standing as s
inner join cluster_splits as p on s.bucket_id = p.bucket_id and s.community = p.community
order by source, target, node_id
