-- Every three of the rarest words of each idea.
--
-- Joins an idea's rarest words with each other; an idea of n words has at most (n / 5 + 3)
-- choose 3 of them, and n is 150 at most.
--
-- columns:  idea   varchar  not null
--           words  varchar  not null  the three, the rarest first
--           size   bigint   not null  words of the idea
select
    a.idea,
    a.word || ' ' || b.word || ' ' || c.word as words,
    a.size
from idea_heads as a
inner join idea_heads as b on a.idea = b.idea and a.place < b.place
inner join idea_heads as c on b.idea = c.idea and b.place < c.place
order by a.idea, words
