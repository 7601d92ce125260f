-- The tensions: what is open between claims, those that matter most first.
--
-- One pass over the pairs that are measured anew; of the other tensions only the rank is new.
--
-- columns:  tension_id    varchar    not null
--           rank          bigint     not null  from 1: the live ones first, then by score, then the latest
--           live          boolean    not null  whether any of its pairs stands
--           score         double     not null  see reasons
--           reasons       varchar    not null  JSON: the figures that the score is made of
--           key           varchar    not null  what it is a question of: group, focus, subject or claim
--           asks          varchar    null      the same in words
--           claims        bigint     not null  that stand in it
--           pairs         bigint     not null  of claims
--           live_pairs    bigint     not null  of them, those that stand
--           set_by        varchar[]  not null  edge, candidate, disputed, evidence, subject
--           left_id       varchar    not null  one of the claims that say it best
--           right_id      varchar    not null  the other one
--           first_id      varchar    not null  the first of its claims, by id
--           first_seq     bigint     not null  when its first pair came to be
--           last_seq      bigint     not null  when its latest did
with rows_of as (
    select
        t.tension_id,
        p.left_id,
        p.right_id,
        p.reason,
        p.key,
        p.seq,
        p.weight,
        p.live,
        row_number() over (
            partition by t.tension_id order by p.live desc, p.weight desc, p.seq, p.left_id, p.right_id, p.reason, p.key
        ) as place
    from pairs as p
    inner join tension_measured as t on p.left_id = t.left_id and p.right_id = t.right_id
),

said as (
    select
        r.tension_id,
        arg_min(c.claim, r.place) as claim
    from rows_of as r
    inner join candidates as c on r.key = c.id
    where r.reason = 'candidate'
    group by r.tension_id
),

weighed as (
    select
        tension_id,
        coalesce(max(weight) filter (where live), 0) as strength,
        count(distinct reason) filter (where live) as kinds,
        min(seq) as first_seq,
        max(seq) as last_seq,
        list_sort(array_agg(distinct reason) filter (where reason is not null)) as set_by,
        arg_min(left_id, place) as left_id,
        arg_min(right_id, place) as right_id
    from rows_of
    group by tension_id
),

claimed as (
    select
        tension_id,
        count(distinct claim) as claims,
        min(claim) as first_id
    from (
        select
            tension_id,
            left_id as claim
        from tension_measured
        union all
        select
            tension_id,
            right_id as claim
        from tension_measured
    ) as ends
    group by tension_id
),

counted as (
    select
        tension_id,
        min(key) as key,
        bool_or(live) as live,
        count(*) as pairs,
        count(*) filter (where live) as live_pairs,
        count(*) filter (where live and across) as across
    from tension_measured
    group by tension_id
),

scored as (
    select
        k.tension_id,
        k.key,
        k.live,
        k.pairs,
        k.live_pairs,
        c.claims,
        c.first_id,
        w.first_seq,
        w.last_seq,
        w.set_by,
        w.left_id,
        w.right_id,
        round(
            case when k.live then
                w.strength + 0.5 * (w.kinds - 1) + ln(1 + k.live_pairs) / ln(2) / 4 + k.across / k.live_pairs
            else 0 end, 6
        ) as score,
        '{"strength":' || cast(w.strength as varchar)
        || ',"kinds":' || cast(w.kinds as varchar)
        || ',"live_pairs":' || cast(k.live_pairs as varchar)
        || ',"across_papers":' || cast(k.across as varchar) || '}' as reasons
    from counted as k
    inner join weighed as w on k.tension_id = w.tension_id
    inner join claimed as c on k.tension_id = c.tension_id
),

known as (
    select
        s.tension_id,
        s.live,
        s.score,
        s.reasons,
        s.key,
        case
            when s.key like 'focus:%' then f.question
            when s.key like 'subject:%' then substring(s.key, 9)
            else d.claim
        end as asks,
        s.claims,
        s.pairs,
        s.live_pairs,
        s.set_by,
        s.left_id,
        s.right_id,
        s.first_id,
        s.first_seq,
        s.last_seq
    from scored as s
    left join focuses as f on s.key = 'focus:' || f.id
    left join said as d on s.tension_id = d.tension_id
    union all
    select
        e.tension_id,
        e.live,
        e.score,
        e.reasons,
        e.key,
        e.asks,
        e.claims,
        e.pairs,
        e.live_pairs,
        e.set_by,
        e.left_id,
        e.right_id,
        e.first_id,
        e.first_seq,
        e.last_seq
    from earlier_tensions as e
    anti join moved as m on e.tension_id = m.tension_id
)

select
    tension_id,
    row_number() over (order by live desc, score desc, last_seq desc, tension_id) as rank,
    live,
    score,
    reasons,
    key,
    asks,
    claims,
    pairs,
    live_pairs,
    set_by,
    left_id,
    right_id,
    first_id,
    first_seq,
    last_seq
from known
order by rank
