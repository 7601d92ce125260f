-- Runs that try again what an earlier run of the session tried, each with the last such run.
--
-- One pass over `ideas` and `similar_ideas`. Two runs are alike in their change where both
-- changed the same, else in their description where at least four fifths of the words are
-- common to both.
--
-- columns:  session_id      varchar  not null  the session's name
--           session_uid     varchar  not null  its identity
--           segment         bigint   not null  experiment segment, from 1
--           seq             bigint   not null  seq of the run's record
--           id              varchar  not null  record id
--           ordinal         bigint   null      the run's number in its session, from 1
--           status          varchar  null
--           metric          double   null      null when missing or not finite
--           description     varchar  null
--           alike_in        varchar  not null  change or description
--           likeness        double   not null  0.8 to 1
--           of_id           varchar  not null  record id of the earlier run
--           of_segment      bigint   not null
--           of_ordinal      bigint   null
--           of_status       varchar  null
--           of_metric       double   null
--           of_failed       boolean  not null  it was a discard, or failed
--           of_description  varchar  null
with tried as materialized (
    select * from ideas
),

earlier as (
    select r.session_uid, r.seq, e.seq as of_seq, 'change' as alike_in, 1.0::double as likeness
    from tried as r
    asof inner join (select * from tried where change is not null) as e
        on r.session_uid = e.session_uid and r.change = e.change and r.seq > e.seq
    union all
    select r.session_uid, r.seq, e.seq, 'description', r.likeness
    from (
        select i.session_uid, i.seq, s.other, s.likeness
        from tried as i
        inner join similar_ideas as s on i.session_uid = s.session_uid and i.idea = s.idea
    ) as r
    asof inner join (select * from tried where idea is not null) as e
        on r.session_uid = e.session_uid and r.other = e.idea and r.seq > e.seq
),

last as (
    select
        *,
        row_number() over (
            partition by session_uid, seq order by alike_in, likeness desc, of_seq desc
        ) as place
    from earlier
)

select
    r.session_id,
    r.session_uid,
    r.segment,
    r.seq,
    r.id,
    r.ordinal,
    r.status,
    r.metric,
    r.description,
    l.alike_in,
    l.likeness,
    e.id as of_id,
    e.segment as of_segment,
    e.ordinal as of_ordinal,
    e.status as of_status,
    e.metric as of_metric,
    e.failed as of_failed,
    e.description as of_description
from last as l
inner join tried as r on l.session_uid = r.session_uid and l.seq = r.seq
inner join tried as e on l.session_uid = e.session_uid and l.of_seq = e.seq
where l.place = 1
