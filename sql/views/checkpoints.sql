-- Every run of a job, finished or not, by what its receipt says.
--
-- Reads the receipts of the sessions asked; cost grows with the runs.
--
-- columns:  session_id         varchar      null      of a job over many sessions
--           name               varchar      not null  the job's
--           status             varchar      not null  running (or cut short) or finished
--           cursor             bigint       null      how far the session was read
--           cursors            varchar      not null  JSON: the cursor of each session that was read
--           generation         bigint       not null  the manifest's
--           parameters         varchar      not null  JSON
--           engine             varchar      not null  with its version
--           began_at           timestamptz  not null  UTC
--           ended_at           timestamptz  null      of a finished one
--           rows_read          bigint       not null  of the streams that it looked at
--           bytes_read         bigint       not null  of their segments and tails
--           rows_written       bigint       not null  of all its tables
--           seconds            double       not null  of its stages
--           peak_memory_bytes  bigint       not null  of the process
--           results            varchar      not null  JSON: what it found, in numbers
--           proposes           varchar      not null  JSON: how many acts of each name
--           path               varchar      not null  the folder of its tables
select
    session_id, name, status, cursor, cursors, generation, parameters, engine, began_at, ended_at,
    rows_read, bytes_read, rows_written, seconds, peak_memory_bytes, results, proposes, path
from catalog.checkpoints
