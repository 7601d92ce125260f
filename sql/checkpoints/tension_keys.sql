-- What each pair is a question of: the questions that are known, else the claims that it shares.
--
-- One pass over the pairs; at most two keys for each of their rows, and its words.
--
-- columns:  left_id   varchar  not null  node id
--           right_id  varchar  not null  node id
--           live      boolean  not null  whether anything sets them against each other still
--           key       varchar  not null
with standing as (
    select
        left_id,
        right_id,
        bool_or(live) as live
    from pairs
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
    from pairs as p
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
order by left_id, right_id, key
