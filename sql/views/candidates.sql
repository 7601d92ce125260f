-- Every candidate relation as it stands: its latest revision.
--
-- An anti join over prev_seq; cost grows with the candidates ever written.
--
-- columns:  session_id        varchar      not null  the session's name
--           session_uid       varchar      not null  its identity
--           seq               bigint       not null  seq of this revision
--           id                varchar      not null  candidate id
--           rev               bigint       not null  0 creates, later ones replace
--           prev_seq          bigint       null      the seq that this revision supersedes
--           committed_at      timestamptz  not null  by the writer's clock, UTC
--           actor             varchar      not null  who appended it
--           relation_type     varchar      not null  supports, opposes, …; imported also: claim, deduction
--           status            varchar      not null  candidate, promoted, rejected, deferred or demoted
--           validation        varchar      not null  valid, or imported
--           claim             varchar      not null  in words
--           label             varchar      not null  its name in a Gaia package
--           focus_id          varchar      null
--           packet_id         varchar      null      the packet that grounds it
--           pattern           varchar      null      equal, contradict or exclusive
--           claim_refs        varchar[]    null      node ids of the claims that it relates
--           source_refs       varchar      null      JSON
--           rationale         varchar      null
--           epistemic_status  varchar      null      as it was given
--           promotion_hint    varchar      null      what it may become
--           attempt           bigint       null      from 1
--           repairs           varchar      null      the repair context that it answers
--           decision_id       varchar      null      the latest decision on it
--           origin            varchar      null      assessment or import
--           tension_group     varchar      null
--           gaia              varchar      null      JSON: what it became in Gaia, or was imported from
--           body              varchar      null      fields beyond these, as JSON
select c.* exclude (stream) rename ("at" as committed_at)
from streams.candidates as c
anti join (
    select session_uid, prev_seq from streams.candidates where prev_seq is not null
) as later on c.session_uid = later.session_uid and c.seq = later.prev_seq
