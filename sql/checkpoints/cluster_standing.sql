-- The nodes that are in buckets, with their communities.
--
-- One row a node and bucket; cost grows with memberships.
--
-- columns:  bucket_id  varchar  not null
--           community  bigint   not null
--           node_id    varchar  not null
--           score      double   not null  how like the bucket it was
--           seq        bigint   not null  of its membership
select m.bucket_id, c.community, m.node_id, m.score, m.seq
from memberships as m
inner join communities as c on m.node_id = c.node_id
where m.state = 'assigned' and m.bucket_id is not null
order by m.bucket_id, c.community, m.node_id
