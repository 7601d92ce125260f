-- Changes and ideas that one session kept and another discarded, or failed with.
--
-- One pass over `tries`: the last word of a session on each change or pair of ideas counts.
--
-- columns:  alike_in        varchar    not null  change or description
--           idea            varchar    not null  the change's fingerprint, or the idea
--           other           varchar    not null  the same, or the idea that is like it
--           likeness        double     not null  0.8 to 1
--           kept_in         varchar[]  not null  sessions, in the order of their names
--           failed_in       varchar[]  not null
--           comparable      boolean    not null  some of both have one benchmark, environment and metric
--           kept_run        varchar    not null  record id, in the first of kept_in
--           kept_metric     double     null
--           failed_run      varchar    not null  record id, in the first of failed_in
--           failed_status   varchar    not null
--           failed_metric   double     null
--           description     varchar    null      of the run that was kept
with last as (
    select *
    from tries
    where kept or failed
    qualify row_number() over (
        partition by alike_in, idea, other, session_id
        order by seq desc
    ) = 1
),

opposed as (
    select
        alike_in,
        idea,
        other
    from last
    group by alike_in, idea, other
    having bool_or(kept) and bool_or(failed)
),

measured_alike as (
    select distinct
        l.alike_in,
        l.idea,
        l.other
    from last as l
    inner join comparable_sessions as c
        on l.session_uid = c.session_uid and l.segment = c.segment
    group by
        l.alike_in,
        l.idea,
        l.other,
        c.benchmark_hash,
        c.environment,
        c.metric_name,
        c.metric_unit,
        c.direction
    having bool_or(l.kept) and bool_or(l.failed)
)

select
    l.alike_in,
    l.idea,
    l.other,
    l.likeness,
    list_sort(array_agg(l.session_id) filter (where l.kept)) as kept_in,
    list_sort(array_agg(l.session_id) filter (where l.failed)) as failed_in,
    bool_or(m.idea is not null) as comparable,
    arg_min(l.id, l.session_id) filter (where l.kept) as kept_run,
    min(case when l.session_id = k.first_kept then l.metric end) as kept_metric,
    arg_min(l.id, l.session_id) filter (where l.failed) as failed_run,
    arg_min(l.status, l.session_id) filter (where l.failed) as failed_status,
    min(case when l.session_id = k.first_failed then l.metric end) as failed_metric,
    arg_min(l.description, l.session_id) filter (where l.kept) as description
from last as l
inner join opposed as o
    on l.alike_in = o.alike_in and l.idea = o.idea and l.other = o.other
inner join (
    select
        alike_in,
        idea,
        other,
        min(session_id) filter (where kept) as first_kept,
        min(session_id) filter (where failed) as first_failed
    from last
    group by alike_in, idea, other
) as k on l.alike_in = k.alike_in and l.idea = k.idea and l.other = k.other
left join measured_alike as m
    on l.alike_in = m.alike_in and l.idea = m.idea and l.other = m.other
group by l.alike_in, l.idea, l.other, l.likeness
order by l.alike_in, l.idea, l.other
