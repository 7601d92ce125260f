-- Pairs of ideas that have at least four fifths of their words in common, and each idea with
-- itself.
--
-- A join by three rare words, of which those that are hot are left out; at most half as many
-- pairs a key and idea as a key may have ideas.
--
-- columns:  idea      varchar  not null
--           other     varchar  not null  a later one in the alphabet, or itself
--           likeness  double   not null  words in common of all words of both
with cold as (
    select
        h.idea,
        h.words,
        h.size
    from idea_keys as h
    anti join hot_keys as k on h.words = k.words
),

near as (
    select distinct
        a.idea,
        b.idea as other,
        a.size + b.size as sizes
    from cold as a
    inner join cold as b on a.words = b.words and a.idea < b.idea
    where 4 * greatest(a.size, b.size) <= 5 * least(a.size, b.size)
),

counted as (
    select
        n.idea,
        n.other,
        n.sizes,
        count(*) as common
    from near as n
    inner join idea_words as a on n.idea = a.idea
    inner join idea_words as b on n.other = b.idea and a.word = b.word
    group by n.idea, n.other, n.sizes
)

select
    idea,
    other,
    cast(common as double) / (sizes - common) as likeness
from counted
where 5 * common >= 4 * (sizes - common)
union all
select
    idea,
    idea as other,
    cast(1 as double) as likeness
from idea_texts
order by idea, other
