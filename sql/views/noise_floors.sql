-- How widely the metric of each segment varies where nothing was changed.
--
-- One pass over `measured_runs`; sums go in one order, so that the last digit stays. Taken from
-- runs that measured the same code, pooled over all codes; where there are none, from the
-- replicates of single runs, but for a run with one that is not below 1e150.
--
-- columns:  session_id    varchar  not null  the session's name
--           session_uid   varchar  not null  its identity
--           segment       bigint   not null  experiment segment, from 1
--           taken_from    varchar  not null  runs or replicates
--           width         double   not null  standard deviation, in metric units
--           degrees       bigint   not null  of freedom: measurements less one a group
--           groups        bigint   not null  codes measured more than once, or runs with replicates
with grouped as (
    select
        any_value(session_id) as session_id,
        session_uid,
        segment,
        'runs' as taken_from,
        count(*) - 1 as degrees,
        list_var_samp(list(metric order by seq)) * (count(*) - 1) as squares
    from measured_runs
    where code is not null
    group by session_uid, segment, code
    having count(*) > 1
    union all
    select
        session_id,
        session_uid,
        segment,
        'replicates',
        len(found) - 1,
        list_var_samp(found) * (len(found) - 1)
    from (
        select *, try_cast(replicates::json as double[]) as found
        from measured_runs
    )
    where len(found) > 1 and list_max(list_transform(found, lambda one: abs(one))) < 1e150
),

pooled as (
    select
        any_value(session_id) as session_id,
        session_uid,
        segment,
        taken_from,
        sqrt(list_sum(list(squares order by squares)) / sum(degrees)) as width,
        sum(degrees)::bigint as degrees,
        count(*) as groups
    from grouped
    group by session_uid, segment, taken_from
)

select *
from pooled
qualify row_number() over (partition by session_uid, segment order by taken_from desc) = 1
