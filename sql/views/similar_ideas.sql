-- Pairs of ideas of one session that have at least four fifths of their words in common.
--
-- Reads `idea_keys` once, and compares the ideas that share a key, which finds all such pairs.
-- A key of more than 200 ideas of a session is left out, so cost grows with the ideas. Each
-- pair is there both ways, and each idea with itself.
--
-- columns:  session_uid  varchar  not null  the session's identity
--           idea         varchar  not null  words, sorted
--           other        varchar  not null  likewise
--           likeness     double   not null  words in common of all words of both, 0.8 to 1
with keys as materialized (
    select * from idea_keys
),

cold as materialized (
    select k.*
    from keys as k
    semi join (
        select session_uid, key
        from keys
        group by session_uid, key
        having count(*) between 2 and 200
    ) as c on k.session_uid = c.session_uid and k.key = c.key
),

pairs as (
    select distinct a.session_uid, a.idea, b.idea as other
    from cold as a
    inner join cold as b on a.session_uid = b.session_uid and a.key = b.key
    where a.idea < b.idea and 4 * greatest(a.size, b.size) <= 5 * least(a.size, b.size)
),

split as (
    select *, string_split(idea, ' ') as words, string_split(other, ' ') as others
    from pairs
),

counted as (
    select
        session_uid,
        idea,
        other,
        len(list_intersect(words, others)) as common,
        len(words) + len(others) as sizes
    from split
),

alike as materialized (
    select session_uid, idea, other, common / (sizes - common) as likeness
    from counted
    where 5 * common >= 4 * (sizes - common)
)

select session_uid, idea, other, likeness
from alike
union all
select session_uid, other, idea, likeness
from alike
union all
select distinct session_uid, idea, idea, 1.0::double
from ideas
where idea is not null
