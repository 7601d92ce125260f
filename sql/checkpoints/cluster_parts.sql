-- Which communities a bucket is made of: the largest, and each that is a good share of it.
--
-- One pass over the nodes in buckets.
--
-- params:   least         bigint   not null  nodes from which a part counts
--           share         double   not null  of a bucket's nodes, from which a part counts
-- columns:  bucket_id     varchar  not null
--           community     bigint   not null
--           nodes         bigint   not null  of the bucket, in the community
--           bucket_nodes  bigint   not null  of the bucket
--           first_in      boolean  not null  no bucket has more of the community
with counted as (
    select bucket_id, community, count(*) as nodes
    from cluster_standing
    group by bucket_id, community
),

ranked as (
    select
        bucket_id,
        community,
        nodes,
        sum(nodes) over (partition by bucket_id)::bigint as bucket_nodes,
        row_number() over (partition by bucket_id order by nodes desc, community) as in_bucket,
        row_number() over (partition by community order by nodes desc, bucket_id) as in_community
    from counted
)

select bucket_id, community, nodes, bucket_nodes, in_community = 1 as first_in
from ranked
where in_bucket = 1 or (nodes >= $least and nodes >= $share * bucket_nodes)
order by bucket_id, nodes desc, community
