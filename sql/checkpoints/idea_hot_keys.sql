-- Words that more ideas have among their rarest than are compared with each other.
--
-- One pass over the rarest words.
--
-- params:   most   bigint   not null  ideas of one word that are compared
-- columns:  word   varchar  not null
--           ideas  bigint   not null  that have it among their rarest
select
    word,
    count(*) as ideas
from idea_heads
group by word
having count(*) > $most
order by word
