-- Every reference to evidence, one row each: of packets, candidates and drafts under repair.
--
-- Unnests the latest revision of each owner; cost grows with the refs that they name.
--
-- columns:  session_id   varchar  not null  the session's name
--           session_uid  varchar  not null  its identity
--           owner_kind   varchar  not null  packet, candidate or repair_context
--           owner_id     varchar  not null
--           owner_seq    bigint   not null  seq of the owner's revision
--           use          varchar  not null  evidence, displaced, source, claim or fault
--           kind         varchar  null      variable, factor, paper, focus, …; null where it is not known
--           ref          varchar  not null  the id that was used
--           node_id      varchar  null      the node that it stands for
--           value_type   varchar  null      claim, question or note
--           grounded     boolean  not null  whether a packet has it
with named as (
    select
        session_id,
        session_uid,
        'packet' as owner_kind,
        id as owner_id,
        seq as owner_seq,
        'evidence' as use,
        unnest(json_extract(evidence, '$[*]')) as entry
    from packets
    union all
    select
        session_id,
        session_uid,
        'packet',
        id,
        seq,
        'displaced',
        unnest(json_extract(displaced, '$[*]'))
    from packets
    union all
    select
        session_id,
        session_uid,
        'candidate',
        id,
        seq,
        'source',
        unnest(json_extract(source_refs, '$[*]'))
    from candidates
    union all
    select
        session_id,
        session_uid,
        'repair_context',
        id,
        seq,
        'fault',
        unnest(json_extract(errors, '$[*]'))
    from repair_contexts
),

claims as (
    select session_id, session_uid, id, seq, unnest(claim_refs) as node_id
    from candidates
)

select
    session_id,
    session_uid,
    owner_kind,
    owner_id,
    owner_seq,
    use,
    json_extract_string(entry, '$.kind') as kind,
    coalesce(json_extract_string(entry, '$.id'), json_extract_string(entry, '$.ref')) as ref,
    json_extract_string(entry, '$.node_id') as node_id,
    coalesce(
        json_extract_string(entry, '$.value_type'),
        json_extract_string(entry, '$.variable_type')
    ) as value_type,
    use <> 'fault'
        or json_extract_string(entry, '$.code') not in ('ref_ungrounded', 'item_n_ref') as grounded
from named
where coalesce(json_extract_string(entry, '$.id'), json_extract_string(entry, '$.ref')) is not null
union all
select
    session_id,
    session_uid,
    'candidate',
    id,
    seq,
    'claim',
    'variable',
    node_id,
    node_id,
    'claim',
    true
from claims
