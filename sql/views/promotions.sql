-- The decisions on candidates, refusals too, each with what the gate came to.
--
-- An anti join over prev_seq; cost grows with the decisions ever written.
--
-- columns:  session_id     varchar      not null  the session's name
--           session_uid    varchar      not null  its identity
--           seq            bigint       not null  seq of this revision
--           id             varchar      not null  decision id
--           rev            bigint       not null  0 creates, later ones replace
--           prev_seq       bigint       null      the seq that this revision supersedes
--           committed_at   timestamptz  not null  by the writer's clock, UTC
--           actor          varchar      not null  who appended it
--           candidate_id   varchar      not null
--           action         varchar      not null  promote, reject, defer or demote
--           decided_by     varchar      not null  JSON: {kind, name}
--           rationale      varchar      not null  the reason given
--           outcome        varchar      not null  applied, rolled_back, refused or unknown
--           origin         varchar      null      session or import
--           codes          varchar[]    null      why it was refused
--           verb           varchar      null      what it was to become in Gaia
--           p_e_given_h    double       null      of infer: how probable the first claim is, given the other
--           binding        varchar      null      the candidate's name in Gaia
--           label          varchar      null      the stable relation's name in Gaia
--           gate           varchar      null      JSON: preflight, diagnostics, check, IR hashes
--           supersedes     varchar      null      the decision that it takes back
--           body           varchar      null      fields beyond these, as JSON
--           superseded_by  varchar      null      the decision that took it back
with latest as (
    select d.*
    from streams.decisions as d
    anti join (
        select session_uid, prev_seq from streams.decisions where prev_seq is not null
    ) as later on d.session_uid = later.session_uid and d.seq = later.prev_seq
),

undone as (
    select session_uid, supersedes, arg_max(id, seq) as id
    from latest
    where supersedes is not null and outcome = 'applied'
    group by session_uid, supersedes
)

select
    l.* exclude (stream) rename ("at" as committed_at),
    u.id as superseded_by
from latest as l
left join undone as u on l.session_uid = u.session_uid and l.id = u.supersedes
