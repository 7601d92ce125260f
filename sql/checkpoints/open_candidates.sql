-- The candidates that nobody decided and that may become stable, with what each waits for.
--
-- Joins candidates, their claims' nodes and their projections by key; cost grows with these.
--
-- columns:  candidate_id    varchar  not null
--           session_id      varchar  not null
--           seq             bigint   not null  of the candidate's latest revision
--           relation_type   varchar  not null  supports, opposes or qualifies
--           pattern         varchar  null
--           promotion_hint  varchar  null
--           label           varchar  not null
--           claim           varchar  not null
--           claims          bigint   not null  how many it relates
--           distinct_claims bigint   not null
--           in_gaia         bigint   not null  of its claims, those that have a package ref
--           projected       boolean  not null  Gaia has it as a candidate_relation
with claims as (
    select c.id as candidate_id, unnest(c.claim_refs) as node_id
    from candidates as c
    where c.status = 'candidate'
),

counted as (
    select
        k.candidate_id,
        count(*) as claims,
        count(distinct k.node_id) as distinct_claims,
        count(n.package_ref) as in_gaia
    from claims as k
    left join nodes as n on k.node_id = n.id
    group by k.candidate_id
)

select
    c.id as candidate_id,
    c.session_id,
    c.seq,
    c.relation_type,
    c.pattern,
    c.promotion_hint,
    c.label,
    c.claim,
    coalesce(k.claims, 0) as claims,
    coalesce(k.distinct_claims, 0) as distinct_claims,
    coalesce(k.in_gaia, 0) as in_gaia,
    coalesce(p.state in ('applied', 'verified'), false) as projected
from candidates as c
left join counted as k on c.id = k.candidate_id
left join projections as p on c.id = p.subject_id and p.kind = 'candidate'
where
    c.status = 'candidate'
    and c.relation_type in ('supports', 'opposes', 'qualifies')
order by c.seq
