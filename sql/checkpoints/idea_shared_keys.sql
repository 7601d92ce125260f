-- The keys of the ideas of all sessions, each once.
--
-- One pass over `idea_keys`.
--
-- columns:  key   bigint   not null  a hash
--           idea  varchar  not null
--           size  bigint   not null  words of the idea
select distinct
    key,
    idea,
    size
from idea_keys
order by key, idea
