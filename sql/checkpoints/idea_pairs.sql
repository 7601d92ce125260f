-- Pairs of ideas that have at least four fifths of their words in common, and each idea with
-- itself.
--
-- Goes through `compared_ideas` word by word.
--
-- columns:  idea      varchar  not null
--           other     varchar  not null  a later one in the alphabet, or itself
--           likeness  double   not null  words in common of all words of both
with counted as (
    select
        n.idea,
        n.other,
        n.sizes,
        count(*) as common
    from compared_ideas as n
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
