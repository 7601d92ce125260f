-- Each run that tried a change, or an idea of a pair that is alike, with what came of it.
--
-- Keyed joins; one row a run and pair of its idea.
--
-- columns:  alike_in      varchar  not null  change or description
--           idea          varchar  not null  the change's fingerprint, or the idea
--           other         varchar  not null  the same, or the idea that is like it
--           likeness      double   not null
--           session_id    varchar  not null
--           session_uid   varchar  not null
--           segment       bigint   not null
--           seq           bigint   not null
--           id            varchar  not null  record id of the run
--           kept          boolean  not null
--           failed        boolean  not null  a discard, or failed
--           status        varchar  null
--           metric        double   null
--           description   varchar  null
with sides as (
    select
        idea,
        other,
        likeness,
        idea as side
    from idea_pairs
    union all
    select
        idea,
        other,
        likeness,
        other as side
    from idea_pairs
    where idea <> other
)

select
    'change' as alike_in,
    change as idea,
    change as other,
    cast(1 as double) as likeness,
    session_id,
    session_uid,
    segment,
    seq,
    id,
    coalesce(status = 'keep', false) as kept,
    failed,
    status,
    metric,
    description
from ideas
where change is not null
union all
select
    'description' as alike_in,
    s.idea,
    s.other,
    s.likeness,
    i.session_id,
    i.session_uid,
    i.segment,
    i.seq,
    i.id,
    coalesce(i.status = 'keep', false) as kept,
    i.failed,
    i.status,
    i.metric,
    i.description
from sides as s
inner join ideas as i on s.side = i.idea
order by alike_in, idea, other, session_id, seq
