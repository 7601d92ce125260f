-- Pairs of ideas of one session that have at least four fifths of their words in common.
--
-- Reads `ideas` once. Only ideas that share one of their rarest words are compared, which
-- finds all such pairs. Each pair is there both ways, and each idea with itself.
--
-- columns:  session_uid  varchar  not null  the session's identity
--           idea         varchar  not null  words, sorted
--           other        varchar  not null  likewise
--           likeness     double   not null  words in common of all words of both, 0.8 to 1
with sets as (
    select distinct session_uid, idea
    from ideas
    where idea is not null
),

words as (
    select session_uid, idea, unnest(string_split(idea, ' ')) as word
    from sets
),

rarity as (
    select session_uid, word, count(*) as ideas
    from words
    group by session_uid, word
),

ranked as (
    select
        w.session_uid,
        w.idea,
        w.word,
        row_number() over (
            partition by w.session_uid, w.idea order by r.ideas, w.word
        ) as place,
        count(*) over (partition by w.session_uid, w.idea) as size
    from words as w
    inner join rarity as r using (session_uid, word)
),

heads as (
    select *
    from ranked
    where place <= size - (4 * size + 4) // 5 + 1
),

pairs as (
    select distinct
        a.session_uid,
        a.idea,
        b.idea as other,
        a.size + b.size as sizes
    from heads as a
    inner join heads as b using (session_uid, word)
    where a.idea < b.idea and 4 * greatest(a.size, b.size) <= 5 * least(a.size, b.size)
),

counted as (
    select
        *,
        len(list_intersect(string_split(idea, ' '), string_split(other, ' '))) as common
    from pairs
),

alike as (
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
select session_uid, idea, idea, 1.0::double
from sets
