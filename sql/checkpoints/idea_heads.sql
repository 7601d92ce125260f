-- The rarest words of each idea: two ideas that have four fifths of their words in common
-- share one of these.
--
-- One row a word; cost grows with the words.
--
-- columns:  idea  varchar  not null
--           word  varchar  not null
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
    size
from ranked
where place <= size - (4 * size + 4) // 5 + 1
order by idea, word
