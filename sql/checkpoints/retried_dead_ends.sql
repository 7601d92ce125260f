-- Runs that tried again what was discarded or failed when their session last tried it.
--
-- Reads the view `dead_ends`.
--
-- columns:  session_id   varchar  not null
--           id           varchar  not null  record id of the run
--           ordinal      bigint   null
--           status       varchar  null      what came of it this time
--           alike_in     varchar  not null  change or description
--           likeness     double   not null  0.8 to 1
--           of_id        varchar  not null  record id of the run that tried it before
--           of_ordinal   bigint   null
--           of_status    varchar  null
--           description  varchar  null
select
    session_id,
    id,
    ordinal,
    status,
    alike_in,
    likeness,
    of_id,
    of_ordinal,
    of_status,
    description
from dead_ends
order by session_id, seq
