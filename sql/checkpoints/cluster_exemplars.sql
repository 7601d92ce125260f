-- The nodes most like a bucket that would be split, of those that would stay.
--
-- One pass over the nodes in buckets.
--
-- params:   most       bigint   not null  nodes of a bucket
-- columns:  bucket_id  varchar  not null
--           node_id    varchar  not null
--           place      bigint   not null  the likest first, from 1
with staying as (
    select s.bucket_id, s.node_id, s.score, s.seq
    from cluster_standing as s
    semi join cluster_splits as p on s.bucket_id = p.bucket_id
    anti join cluster_splits as q on s.bucket_id = q.bucket_id and s.community = q.community
),

ranked as (
    select
        bucket_id,
        node_id,
        row_number() over (
            partition by bucket_id
            order by score desc, seq
        ) as place
    from staying
)

select bucket_id, node_id, place
from ranked
where place <= $most
order by bucket_id, place
