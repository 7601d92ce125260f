-- The relations between claims, the newest of each status, with the latest decision on each.
--
-- A keyed join; cost grows with the candidates and the decisions.
--
-- params:   most           bigint     not null  of each status
-- columns:  status         varchar    not null  promoted, candidate, demoted, …
--           candidate_id   varchar    not null
--           relation_type  varchar    not null
--           claim          varchar    not null  in words
--           claims         varchar[]  null      ids of the claims that it relates
--           decision_id    varchar    null
--           decided        varchar    null      what was decided, and what came of it
--           reason         varchar    null      as it was given
select
    c.status,
    c.id as candidate_id,
    c.relation_type,
    c.claim,
    c.claim_refs as claims,
    d.id as decision_id,
    d.action || ' ' || d.outcome as decided,
    d.rationale as reason
from candidates as c
left join promotions as d on c.decision_id = d.id
qualify row_number() over (partition by c.status order by c.seq desc) <= $most
order by
    case c.status
        when 'promoted' then 1
        when 'candidate' then 2
        when 'deferred' then 3
        when 'demoted' then 4
        else 5
    end,
    c.seq desc
