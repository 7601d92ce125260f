-- Keys that more papers have than are compared with each other, with one of their titles.
--
-- One pass over the keys.
--
-- params:   most     bigint   not null  papers of one key that are compared
-- columns:  key      bigint   not null  hash of a title, or of a band of it
--           papers   bigint   not null  that have it
--           example  varchar  not null  the first of their titles
select
    k.key,
    count(*) as papers,
    min(p.title) as example
from work_keys as k
inner join papers as p on k.number = p.number
group by k.key
having count(*) > $most
order by k.key
