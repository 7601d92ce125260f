-- Where each node that waits belongs: where most of its community is, else what it is nearest to.
--
-- The buckets as they would be after merges and splits. Keyed joins over memberships.
--
-- columns:  node_id    varchar  not null
--           state      varchar  not null  ambiguous or new_bucket_candidate
--           community  bigint   not null
--           bucket_id  varchar  null      none where neither is known
--           method     varchar  not null  community, nearest or none
--           votes      bigint   not null  nodes of its community in the bucket that has most
--           voters     bigint   not null  nodes of its community, once for each bucket they are in
with standing as (
    select distinct s.community, s.node_id, coalesce(v.target, s.bucket_id) as bucket_id
    from cluster_standing as s
    left join moves as v on s.node_id = v.node_id and s.bucket_id = v.source
),

counted as (
    select community, bucket_id, count(*) as votes
    from standing
    group by community, bucket_id
),

ranked as (
    select
        community,
        bucket_id,
        votes,
        sum(votes) over (partition by community)::bigint as voters,
        row_number() over (partition by community order by votes desc, bucket_id) as place
    from counted
),

near as (
    select
        m.node_id,
        m.state,
        coalesce(g.target, m.bucket_id) as bucket_id,
        row_number() over (partition by m.node_id order by m.score desc, m.bucket_id) as place
    from memberships as m
    left join cluster_merges as g on m.bucket_id = g.bucket_id
    where m.state in ('ambiguous', 'new_bucket_candidate')
)

select
    n.node_id,
    n.state,
    c.community,
    case when 2 * r.votes > r.voters then r.bucket_id else n.bucket_id end as bucket_id,
    case
        when 2 * r.votes > r.voters then 'community'
        when n.bucket_id is not null then 'nearest'
        else 'none'
    end as method,
    coalesce(r.votes, 0) as votes,
    coalesce(r.voters, 0) as voters
from near as n
inner join communities as c on n.node_id = c.node_id
left join ranked as r on c.community = r.community and r.place = 1
where n.place = 1
order by n.node_id
