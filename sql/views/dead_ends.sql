-- Runs that try again what was discarded or failed when it was last tried.
--
-- Reads `similar_runs`; see there for what makes two runs alike.
--
-- columns:  session_id      varchar  not null  the session's name
--           session_uid     varchar  not null  its identity
--           segment         bigint   not null  experiment segment, from 1
--           seq             bigint   not null  seq of the run's record
--           id              varchar  not null  record id
--           ordinal         bigint   null      the run's number in its session, from 1
--           status          varchar  null      what came of it this time
--           metric          double   null      null when missing or not finite
--           description     varchar  null
--           alike_in        varchar  not null  change or description
--           likeness        double   not null  0.8 to 1
--           of_id           varchar  not null  record id of the run that tried it before
--           of_ordinal      bigint   null
--           of_status       varchar  null      what came of it then
--           of_metric       double   null
--           of_description  varchar  null
select
    session_id,
    session_uid,
    segment,
    seq,
    id,
    ordinal,
    status,
    metric,
    description,
    alike_in,
    likeness,
    of_id,
    of_ordinal,
    of_status,
    of_metric,
    of_description
from similar_runs
where of_failed
