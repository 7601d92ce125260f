-- What sets claims against each other or supports them: edges, and candidates claim by claim.
--
-- One pass over the latest edges and candidates, joined by the candidate's id; a candidate gives
-- a row for each other claim that it names, an exclusive one a row for each two of the first.
-- After an earlier run, of the edges those that stand at a touched key.
--
-- In no order.
--
-- params:   after     bigint   not null  the cursor that was read to, -1 where all is new
--           cap       bigint   not null  claims of an exclusive candidate that are paired
-- columns:  reason    varchar  not null  edge or candidate
--           record    varchar  not null  its id
--           stance    varchar  not null  for, against, or mutual where neither side is the evidence
--           src       varchar  not null  node id
--           dst       varchar  not null  node id
--           seq       bigint   not null  when it came to be what it is
--           live      boolean  not null  neither it nor its candidate was taken back
--           question  varchar  null      the tension group or the focus of its candidate
--           words     varchar  null      hash of its candidate's claim where there is no question
--           weight    bigint   not null  6 promoted, 4 mutual or a candidate, 3 against
with drafts as (
    select
        id,
        seq,
        relation_type,
        coalesce(pattern, '') as pattern,
        validation,
        claim_refs,
        status in ('candidate', 'promoted', 'deferred') as live,
        status = 'promoted' as promoted,
        case
            when tension_group is not null then 'group:' || tension_group
            when focus_id is not null then 'focus:' || focus_id
        end as question,
        md5(lower(trim(claim))) as words
    from candidates
),

named as (
    select
        e.id,
        e.src,
        e.dst,
        e.seq,
        e.candidate_id,
        coalesce(e.status, 'active') <> 'retracted' as live,
        case
            when edge_kind in ('supports', 'support', 'confirms', 'deduction', 'derive', 'entails') then 'for'
            when
                edge_kind in (
                    'opposes', 'opposition', 'undercuts', 'undercut', 'refutes', 'rebuts', 'disputes', 'challenges'
                )
                then 'against'
            when
                edge_kind in (
                    'contradicts', 'contradict', 'contradiction', 'conflicts', 'conflict', 'exclusive', 'excludes',
                    'inconsistent'
                )
                then 'mutual'
        end as stance
    from edges as e
    left join touched as d on e.dst = d.key and d.reason = 'disputed'
    left join touched as v on e.src = v.key and v.reason = 'evidence'
    where e.src <> e.dst and ($after < 0 or d.key is not null or v.key is not null)
),

opposing as (
    select
        id,
        seq,
        pattern,
        validation,
        live,
        promoted,
        question,
        words,
        claim_refs
    from drafts
    where relation_type in ('opposes', 'undercuts') or pattern in ('contradict', 'exclusive')
),

members as (
    select
        id,
        claim_refs[1] as lead,
        array_length(claim_refs) as refs,
        unnest(claim_refs) as claim
    from opposing
),

placed as (
    select
        id,
        claim,
        row_number() over (partition by id order by claim) as place
    from (select distinct id, claim from members) as once
),

paired as (
    select
        m.id,
        m.lead as src,
        m.claim as dst
    from members as m
    inner join opposing as o on m.id = o.id
    where m.claim <> m.lead and o.pattern <> 'exclusive' and (o.validation <> 'imported' or m.refs <= 2)
    union all
    select
        a.id,
        a.claim as src,
        b.claim as dst
    from placed as a
    inner join placed as b on a.id = b.id and a.claim < b.claim
    inner join opposing as o on a.id = o.id
    where o.pattern = 'exclusive' and a.place <= $cap and b.place <= $cap
)

select
    'edge' as reason,
    e.id as record,
    e.stance,
    e.src,
    e.dst,
    greatest(e.seq, coalesce(d.seq, 0)) as seq,
    e.live and coalesce(d.live, true) as live,
    d.question,
    case when d.question is null then d.words end as words,
    cast(case when coalesce(d.promoted, false) then 6 when e.stance = 'mutual' then 4 else 3 end as bigint) as weight
from named as e
left join drafts as d on e.candidate_id = d.id
where e.stance is not null
union all
select distinct
    'candidate' as reason,
    o.id as record,
    'mutual' as stance,
    p.src,
    p.dst,
    o.seq,
    o.live,
    o.question,
    case when o.question is null then o.words end as words,
    cast(case when o.promoted then 6 else 4 end as bigint) as weight
from paired as p
inner join opposing as o on p.id = o.id
