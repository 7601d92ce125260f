-- How much of the field is covered: buckets by their coverage, with what is in them.
--
-- Reads the latest buckets; cost grows with the revisions of buckets.
--
-- columns:  session_id       varchar  not null  the session's name
--           coverage_status  varchar  not null  missing, thin, partial, covered or out_of_scope
--           buckets          bigint   not null
--           required         bigint   not null  of them, those that the session has to cover
--           nodes            bigint   not null  nodes in them; one in two buckets counts twice
--           claims           bigint   not null  of them, claims
--           questions        bigint   not null  of them, questions
select
    session_id,
    coverage_status,
    count(*) as buckets,
    count(*) filter (where required) as required,
    sum(nodes)::bigint as nodes,
    sum(claims)::bigint as claims,
    sum(questions)::bigint as questions
from buckets
group by session_id, session_uid, coverage_status
order by session_id, session_uid, buckets desc, coverage_status
