-- The ideas of all sessions, each once: the words of a description, sorted.
--
-- One pass over `ideas`.
--
-- columns:  idea  varchar  not null
select distinct idea
from ideas
where idea is not null
order by idea
