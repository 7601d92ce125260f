-- Discards that a later keep overturned: by the same change, a like description, or by saying so.
--
-- One pass over `ideas` and `similar_ideas`. A keep says so where its asi.overturns has the
-- words of the discard's asi.assumption, or is the discard's id.
--
-- columns:  session_id        varchar  not null  the session's name
--           session_uid       varchar  not null  its identity
--           segment           bigint   not null  experiment segment of the discard, from 1
--           seq               bigint   not null  seq of its record
--           id                varchar  not null  its record id
--           ordinal           bigint   null      its number in the session, from 1
--           metric            double   null      null when missing or not finite
--           description       varchar  null
--           assumption        varchar  null      what it rested on, as it said
--           overturned_by     varchar  not null  change, description or assumption
--           keep_id           varchar  not null  record id of the first keep that overturns it
--           keep_segment      bigint   not null
--           keep_ordinal      bigint   null
--           keep_metric       double   null
--           keep_description  varchar  null
with said as materialized (
    select
        *,
        array_to_string(list_sort(list_distinct(
            regexp_extract_all(lower(left(assumption, 300)), '[\p{L}\p{N}_]+')
        )), ' ') as assumed,
        array_to_string(list_sort(list_distinct(
            regexp_extract_all(lower(left(overturns, 300)), '[\p{L}\p{N}_]+')
        )), ' ') as overturned
    from ideas
),

discards as (
    select * from said where status = 'discard'
),

keeps as (
    select * from said where status = 'keep'
),

later as (
    select d.session_uid, d.seq, k.seq as keep_seq, 'change' as overturned_by, 1 as rank
    from discards as d
    asof inner join (select * from keeps where change is not null) as k
        on d.session_uid = k.session_uid and d.change = k.change and d.seq < k.seq
    union all
    select d.session_uid, d.seq, k.seq, 'description', 2
    from (
        select i.session_uid, i.seq, s.other
        from discards as i
        inner join similar_ideas as s on i.session_uid = s.session_uid and i.idea = s.idea
    ) as d
    asof inner join (select * from keeps where idea is not null) as k
        on d.session_uid = k.session_uid and d.other = k.idea and d.seq < k.seq
    union all
    select d.session_uid, d.seq, k.seq, 'assumption', 3
    from (select * from discards where assumed <> '') as d
    asof inner join (select * from keeps where overturned <> '') as k
        on d.session_uid = k.session_uid and d.assumed = k.overturned and d.seq < k.seq
    union all
    select d.session_uid, d.seq, k.seq, 'assumption', 3
    from discards as d
    asof inner join (select * from keeps where overturns is not null) as k
        on d.session_uid = k.session_uid and d.id = k.overturns and d.seq < k.seq
),

first as (
    select
        *,
        row_number() over (partition by session_uid, seq order by keep_seq, rank) as place
    from later
)

select
    d.session_id,
    d.session_uid,
    d.segment,
    d.seq,
    d.id,
    d.ordinal,
    d.metric,
    d.description,
    d.assumption,
    f.overturned_by,
    k.id as keep_id,
    k.segment as keep_segment,
    k.ordinal as keep_ordinal,
    k.metric as keep_metric,
    k.description as keep_description
from first as f
inner join discards as d on f.session_uid = d.session_uid and f.seq = d.seq
inner join keeps as k on f.session_uid = k.session_uid and f.keep_seq = k.seq
where f.place = 1
