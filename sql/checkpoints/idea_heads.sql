-- The rarest words of each idea, with their places: two ideas that have four fifths of their
-- words in common share three of these.
--
-- One row a word; cost grows with the words.
--
-- columns:  idea  varchar  not null
--           word  varchar  not null
--           place bigint   not null  from 1, the rarest first
--           size  bigint   not null  words of the idea
with rarity as (
    select
        word,
        count(*) as ideas
    from idea_words
    group by word
),

ranked as (
    select
        w.idea,
        w.word,
        row_number() over (partition by w.idea order by r.ideas, w.word) as place,
        count(*) over (partition by w.idea) as size
    from idea_words as w
    inner join rarity as r on w.word = r.word
)

select
    idea,
    word,
    place,
    size
from ranked
where place <= size - (4 * size + 4) // 5 + 3
order by idea, place
