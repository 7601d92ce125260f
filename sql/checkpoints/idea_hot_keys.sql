-- Keys that more ideas share than are compared with each other, with one of these ideas.
--
-- One pass over the keys.
--
-- params:   most     bigint   not null  ideas of one key that are compared
-- columns:  key      bigint   not null  a hash, see the view `idea_keys`
--           ideas    bigint   not null  that share it
--           example  varchar  not null  the first of them
select
    key,
    count(*) as ideas,
    min(idea) as example
from shared_keys
group by key
having count(*) > $most
order by key
