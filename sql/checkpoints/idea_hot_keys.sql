-- Rare words that stand together in more ideas than are compared with each other.
--
-- One pass over the keys.
--
-- params:   most   bigint   not null  ideas of one key that are compared
-- columns:  words  varchar  not null  three words
--           ideas  bigint   not null  that have them among their rarest
select
    words,
    count(*) as ideas
from idea_keys
group by words
having count(*) > $most
order by words
