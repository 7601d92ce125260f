-- Segments that can be compared: the same benchmark hash, environment and metric.
--
-- Reads the config records once, and `best_runs`. A segment is here once a config named
-- both; later configs of a session keep what they do not name.
--
-- columns:  benchmark_hash    varchar  not null  benchmark_hash of a config's payload
--           environment       varchar  not null  environment of a config's payload
--           metric_name       varchar  not null
--           metric_unit       varchar  not null
--           direction         varchar  not null  minimize or maximize
--           session_id        varchar  not null  the session's name
--           session_uid       varchar  not null  its identity
--           segment           bigint   not null  experiment segment, from 1
--           seed              varchar  null      seed of a config's payload
--           runs              bigint   not null  runs of the segment that count
--           baseline_metric   double   null      of the first keep with a finite metric
--           best_id           varchar  null
--           best_metric       double   null
--           place             bigint   not null  by the best metric, from 1; equals share one
--           sessions          bigint   not null  sessions that can be compared, this one too
with said as (
    select
        session_uid,
        segment,
        seq,
        json_extract(payload, '$.benchmark_hash') as benchmark_hash,
        json_extract(payload, '$.environment') as environment,
        json_extract(payload, '$.seed') as seed
    from streams.records
    where type = 'config'
),

so_far as (
    select
        session_uid,
        segment,
        seq,
        arg_max(benchmark_hash, seq) over until as benchmark_hash,
        arg_max(environment, seq) over until as environment,
        arg_max(seed, seq) over until as seed
    from said
    window until as (
        partition by session_uid
        order by seq
        rows between unbounded preceding and current row
    )
),

keys as (
    select
        session_uid,
        segment,
        arg_max(benchmark_hash, seq) ->> '$' as benchmark_hash,
        arg_max(environment, seq) ->> '$' as environment,
        arg_max(seed, seq) ->> '$' as seed
    from so_far
    group by session_uid, segment
),

compared as (
    select
        k.benchmark_hash,
        k.environment,
        k.seed,
        b.*,
        case b.direction when 'maximize' then -b.best_metric else b.best_metric end as cost
    from keys as k
    inner join best_runs as b on k.session_uid = b.session_uid and k.segment = b.segment
    where k.benchmark_hash is not null and k.environment is not null
),

counted as (
    select
        benchmark_hash,
        environment,
        metric_name,
        metric_unit,
        direction,
        count(distinct session_uid) as sessions
    from compared
    group by benchmark_hash, environment, metric_name, metric_unit, direction
)

select
    c.benchmark_hash,
    c.environment,
    c.metric_name,
    c.metric_unit,
    c.direction,
    c.session_id,
    c.session_uid,
    c.segment,
    c.seed,
    c.runs,
    c.baseline_valid_metric as baseline_metric,
    c.best_id,
    c.best_metric,
    rank() over (
        partition by c.benchmark_hash, c.environment, c.metric_name, c.metric_unit, c.direction
        order by c.cost nulls last
    ) as place,
    n.sessions
from compared as c
inner join counted as n using (
    benchmark_hash, environment, metric_name, metric_unit, direction
)
