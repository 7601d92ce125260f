-- Texts of some nodes of each part of a bucket that is asked for, drawn by a hash of their ids.
--
-- A bounded number a part; cost grows with the nodes in buckets.
--
-- params:   most       bigint   not null  nodes of a part
--           chars      bigint   not null  of a node's text
-- columns:  bucket_id  varchar  not null
--           community  bigint   not null
--           text       varchar  not null
with drawn as (
    select
        s.bucket_id,
        s.community,
        s.node_id,
        row_number() over (
            partition by s.bucket_id, s.community
            order by md5(s.node_id), s.node_id
        ) as place
    from cluster_standing as s
    inner join cluster_wanted as w
        on s.bucket_id = w.bucket_id and s.community = w.community
)

select
    d.bucket_id,
    d.community,
    concat(coalesce(n.title, ''), ' ', substring(coalesce(n.content, ''), 1, $chars)) as text
from drawn as d
inner join nodes as n on d.node_id = n.id
where d.place <= $most
order by d.bucket_id, d.community, d.place
