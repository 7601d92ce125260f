-- The pairs of the tensions that are measured anew, and which of them are across papers.
--
-- One pass over the pairs, and over the latest nodes for the papers of their claims. In no order.
--
-- params:   after       bigint   not null  the cursor that was read to, -1 where all is new
-- columns:  tension_id  varchar  not null
--           key         varchar  not null  what it is a question of
--           left_id     varchar  not null  node id
--           right_id    varchar  not null  node id
--           live        boolean  not null  whether anything sets them against each other still
--           across      boolean  not null  the two are of different papers
with measured as (
    select
        t.tension_id,
        t.key,
        t.left_id,
        t.right_id,
        t.live
    from tension_pairs as t
    left join moved as m on t.tension_id = m.tension_id
    where $after < 0 or m.tension_id is not null
),

papers as (
    select
        n.id,
        n.paper_key
    from nodes as n
    semi join (
        select left_id as claim from measured
        union all
        select right_id as claim from measured
    ) as c on n.id = c.claim
    where n.paper_key is not null
)

select
    t.tension_id,
    t.key,
    t.left_id,
    t.right_id,
    t.live,
    coalesce(a.paper_key <> b.paper_key, false) as across
from measured as t
left join papers as a on t.left_id = a.id
left join papers as b on t.right_id = b.id
