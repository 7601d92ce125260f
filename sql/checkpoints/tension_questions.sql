-- What pairs are questions of, and which of these hang together by any pair.
--
-- One pass over the questions that were numbered, and over those of the other regions.
--
-- columns:  key     varchar  not null  group, focus, subject, claim or words
--           region  varchar  not null  the least question of those that it hangs together with
select
    n.key,
    r.key as region
from tension_nodes as n
inner join tension_labels as l on n.node = l.node
inner join tension_nodes as r on l.region = r.node
union all
select
    e.key,
    e.region
from earlier_questions as e
anti join regions as r on e.region = r.region
order by key
