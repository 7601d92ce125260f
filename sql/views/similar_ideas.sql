-- Pairs of ideas of one session that have at least four fifths of their words in common.
--
-- Reads `ideas` once. Only ideas that share three of their rarest words are compared, which
-- finds all such pairs. Each pair is there both ways, and each idea with itself.
--
-- columns:  session_uid  varchar  not null  the session's identity
--           idea         varchar  not null  words, sorted
--           other        varchar  not null  likewise
--           likeness     double   not null  words in common of all words of both, 0.8 to 1
with sets as materialized (
    select session_uid, idea, row_number() over () as set
    from (
        select distinct session_uid, idea
        from ideas
        where idea is not null
    )
),

words as (
    select session_uid, set, unnest(string_split(idea, ' ')) as word
    from sets
),

rarity as (
    select session_uid, word, row_number() over (order by count(*)) as number
    from words
    group by session_uid, word
),

ranked as materialized (
    select set, list(number order by number) as words
    from words
    inner join rarity using (session_uid, word)
    group by set
),

heads as (
    select set, len(words) as size, words[: len(words) - (4 * len(words) + 4) // 5 + 3] as words
    from ranked
),

seconds as (
    select set, size, words, generate_subscripts(words, 1) as place
    from heads
),

thirds as (
    select set, size, words, place, unnest(range(1, place)) as before
    from seconds
),

keys as materialized (
    select set, size, words[first] as one, words[before] as two, words[place] as three
    from (select *, unnest(range(1, before)) as first from thirds)
),

pairs as (
    select distinct a.set, b.set as other, a.size + b.size as sizes
    from keys as a
    inner join keys as b using (one, two, three)
    where a.set < b.set and 4 * greatest(a.size, b.size) <= 5 * least(a.size, b.size)
),

counted as (
    select p.set, p.other, p.sizes, len(list_intersect(a.words, b.words)) as common
    from pairs as p
    inner join ranked as a on p.set = a.set
    inner join ranked as b on p.other = b.set
),

alike as (
    select a.session_uid, a.idea, b.idea as other, c.common / (c.sizes - c.common) as likeness
    from counted as c
    inner join sets as a on c.set = a.set
    inner join sets as b on c.other = b.set
    where 5 * c.common >= 4 * (c.sizes - c.common)
)

select session_uid, idea, other, likeness
from alike
union all
select session_uid, other, idea, likeness
from alike
union all
select session_uid, idea, idea, 1.0::double
from sets
