-- What each pair is a question of: the questions that are known, else the claims that it shares.
--
-- One pass over the pairs; at most two keys for each row, and its words, of those that are grouped
-- anew. In no order.
--
-- params:   after     bigint   not null  the cursor that was read to, -1 where all is new
-- columns:  left_id   varchar  not null  node id
--           right_id  varchar  not null  node id
--           live      boolean  not null  whether anything sets them against each other still
--           key       varchar  not null
with grouped as (
    select
        p.left_id,
        p.right_id,
        p.reason,
        p.key,
        p.live,
        p.question,
        p.words
    from pairs as p
    left join stale as s on p.left_id = s.left_id and p.right_id = s.right_id
    where $after < 0 or s.left_id is not null
),

standing as (
    select
        left_id,
        right_id,
        bool_or(live) as live
    from grouped
    group by left_id, right_id
),

counted as (
    select
        p.left_id,
        p.right_id,
        p.reason,
        p.key,
        p.live,
        p.question,
        p.words,
        max(p.question) over (partition by p.left_id, p.right_id) is not null as asked
    from grouped as p
    inner join standing as s on p.left_id = s.left_id and p.right_id = s.right_id and p.live = s.live
)

select
    left_id,
    right_id,
    live,
    question as key
from counted
where question is not null
union
select
    left_id,
    right_id,
    live,
    'claim:' || case when reason = 'disputed' or reason = 'evidence' then key else left_id end as key
from counted
where not asked
union
select
    left_id,
    right_id,
    live,
    'claim:' || right_id as key
from counted
where not asked and reason in ('edge', 'candidate')
union
select
    left_id,
    right_id,
    live,
    'words:' || words as key
from counted
where not asked and words is not null
