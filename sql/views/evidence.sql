-- Whether the best run of each segment is more than luck, and what pi says of it.
--
-- One pass over `measured_runs`, and a table of what noise does for each number of tries,
-- made the first time that a process asks: at most half a second each. `p` counts how many
-- runs were tried and how many tests were asked; see docs/experiments.md.
--
-- columns:  session_id       varchar  not null  the session's name
--           session_uid      varchar  not null  its identity
--           segment          bigint   not null  experiment segment, from 1
--           tries            bigint   not null  keeps and discards, the baseline too
--           best_id          varchar  null      null where no run can win
--           best_metric      double   null
--           baseline_id      varchar  null      the first keep with a finite metric
--           baseline_metric  double   null
--           noise_width      double   null      of `noise_floors`; null where nothing tells it
--           noise_degrees    bigint   null
--           noise_from       varchar  null      runs or replicates
--           p_calibrated     double   null      gain in units of the tries' spread; without noise
--           p_rank           double   null      tries that are no better than the baseline; without noise
--           p_gain           double   null      gain in widths of the noise
--           p_shift          double   null      mean of all tries after the baseline, in widths
--           p                double   null      of both tests asked; null below three tries
--           likely_real      boolean  not null  p is at most 5 %
--           interval_low     double   null      best minus baseline over their measurements, 95 %
--           interval_high    double   null
--           confidence_pi    double   null      pi's number, of the segment as it stands
with read as (
    select
        session_uid,
        segment,
        seq,
        coalesce(metric, 0) as metric,
        coalesce(status in ('keep', 'unknown'), true) as keeps,
        direction
    from runs
    where counts
),

centres as (
    select
        session_uid,
        segment,
        arg_min(metric, seq) as baseline,
        median(metric) filter (where metric > 0) as middle
    from read
    group by session_uid, segment
),

spreads as (
    select
        r.session_uid,
        r.segment,
        any_value(c.baseline) as baseline,
        count(*) filter (where r.metric > 0) as values,
        median(abs(r.metric - c.middle)) filter (where r.metric > 0) as spread,
        case any_value(r.direction)
            when 'maximize' then max(r.metric) filter (where r.metric > 0 and r.keeps)
            else min(r.metric) filter (where r.metric > 0 and r.keeps)
        end as best
    from read as r
    inner join centres as c on r.session_uid = c.session_uid and r.segment = c.segment
    group by r.session_uid, r.segment
)

select
    b.session_id,
    b.session_uid,
    b.segment,
    coalesce(v.tries, 0) as tries,
    b.best_id,
    b.best_metric,
    b.baseline_valid_id as baseline_id,
    b.baseline_valid_metric as baseline_metric,
    n.width as noise_width,
    n.degrees as noise_degrees,
    n.taken_from as noise_from,
    v.p_calibrated,
    v.p_rank,
    v.p_gain,
    v.p_shift,
    v.p,
    coalesce(v.likely_real, false) as likely_real,
    v.interval_low,
    v.interval_high,
    case
        when s.values >= 3 and s.spread <> 0 and s.best <> s.baseline
            then abs(s.best - s.baseline) / s.spread
    end as confidence_pi
from best_runs as b
left join catalog.verdicts as v on b.session_uid = v.session_uid and b.segment = v.segment
left join noise_floors as n on b.session_uid = n.session_uid and b.segment = n.segment
left join spreads as s on b.session_uid = s.session_uid and b.segment = s.segment
