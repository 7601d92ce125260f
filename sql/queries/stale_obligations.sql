-- Obligations that are open and overdue, those that were left the longest first.
--
-- Counts the steps and reads the latest obligations; cost grows with both.
--
-- columns:  session_id       varchar  not null  the session's name
--           id               varchar  not null  obligation id
--           content          varchar  not null  what must be answered
--           diagnostic_kind  varchar  not null  one of Gaia's five
--           target_kind      varchar  not null  focus, bucket, node or gaia_qid
--           target_id        varchar  not null  what it is about
--           open_steps       bigint   not null  steps since it was opened
--           overdue          bigint   not null  how often it was overdue
--           focus_id         varchar  null      the focus that it presses on
--           question         varchar  null      what that focus asks
with steps as (
    select session_uid, count(*) as step
    from events
    where type = 'batch.submitted'
    group by session_uid
)

select
    o.session_id,
    o.id,
    o.content,
    o.diagnostic_kind,
    o.target_kind,
    o.target_id,
    coalesce(s.step, 0) - coalesce(o.opened_step, 0) as open_steps,
    coalesce(o.overdue, 0) as overdue,
    o.focus_id,
    f.question
from obligations as o
left join steps as s on o.session_uid = s.session_uid
left join focuses as f on o.session_uid = f.session_uid and o.focus_id = f.id
where o.status = 'open' and (o.overdue > 0 or o.due_step <= coalesce(s.step, 0))
order by o.overdue desc, open_steps desc, o.session_id, o.id
