-- From drafts to stable knowledge: how many came how far, in each session.
--
-- Reads the latest candidates, repair contexts and projections; cost grows with them.
--
-- columns:  session_id      varchar  not null  the session's name
--           refused_drafts  bigint   not null  drafts that were not taken
--           under_repair    bigint   not null  of them, those that still wait
--           dropped         bigint   not null  of them, those given up
--           candidates      bigint   not null  drafts that were taken
--           repaired        bigint   not null  of them, those that answered a repair context
--           imported        bigint   not null  candidates that came from another log
--           in_gaia         bigint   not null  candidates that Gaia has as candidate_relation
--           promoted        bigint   not null  stable now
--           demoted         bigint   not null  stable once
--           rejected        bigint   not null
--           deferred        bigint   not null
with drafts as (
    select
        session_id,
        session_uid,
        count(*) as refused_drafts,
        count(*) filter (where status = 'open') as under_repair,
        count(*) filter (where status = 'dropped') as dropped
    from repair_contexts
    group by session_id, session_uid
),

shown as (
    select session_uid, subject_id
    from projections
    where kind = 'candidate' and state in ('applied', 'verified')
),

taken as (
    select
        c.session_id,
        c.session_uid,
        count(*) filter (where c.validation = 'valid') as candidates,
        count(*) filter (where c.repairs is not null) as repaired,
        count(*) filter (where c.validation = 'imported') as imported,
        count(s.subject_id) as in_gaia,
        count(*) filter (where c.status = 'promoted') as promoted,
        count(*) filter (where c.status = 'demoted') as demoted,
        count(*) filter (where c.status = 'rejected') as rejected,
        count(*) filter (where c.status = 'deferred') as deferred
    from candidates as c
    left join shown as s on c.session_uid = s.session_uid and c.id = s.subject_id
    group by c.session_id, c.session_uid
)

select
    coalesce(t.session_id, d.session_id) as session_id,
    coalesce(d.refused_drafts, 0) as refused_drafts,
    coalesce(d.under_repair, 0) as under_repair,
    coalesce(d.dropped, 0) as dropped,
    coalesce(t.candidates, 0) as candidates,
    coalesce(t.repaired, 0) as repaired,
    coalesce(t.imported, 0) as imported,
    coalesce(t.in_gaia, 0) as in_gaia,
    coalesce(t.promoted, 0) as promoted,
    coalesce(t.demoted, 0) as demoted,
    coalesce(t.rejected, 0) as rejected,
    coalesce(t.deferred, 0) as deferred
from taken as t
full join drafts as d on t.session_uid = d.session_uid
order by session_id
