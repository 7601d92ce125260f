"""The statements of checkpoints keep to the SQL that DuckDB, Spark and Sail read alike."""

import pytest

import varvite
from varvite.checkpoints import jobs
from varvite.checkpoints.run import Run
from varvite.query import statements
from varvite.testing import mixed
from varvite.testing.portable import faults

STATEMENTS = statements._load("checkpoints")
UNORDERED = {name for name, one in STATEMENTS.items() if "In no order." in one.details}
"""What is only read by other statements, which do not see an order."""


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_keeps_to_the_list(name):
    assert faults(STATEMENTS[name].text, ordered=name not in UNORDERED) == []


def test_what_a_run_keeps_is_in_order(tmp_path, monkeypatch):
    made = {}
    monkeypatch.setattr(Run, "make", noting(Run.make, made))
    store = varvite.open(tmp_path)
    mixed.fill(store)
    store.checkpoint("contradictions")

    kept = {table for stage in jobs()["contradictions"].stages for table in stage.tables}

    assert {name for name in UNORDERED if "opposition" in name} <= set(made.values())
    assert {name for table, name in made.items() if table in kept} & UNORDERED == set()


def noting(make, made):
    def noted(self, table, statement=None, params=None):
        made[table] = statement or table
        return make(self, table, statement, params)

    return noted


@pytest.mark.parametrize(
    ("sql", "fault"),
    [
        ("select * exclude (a) from t order by b", "star"),
        ("select a, count(*) as n from t group by all order by a", "group by all"),
        ("with recursive w as (select 1 as a union all select a from w) from w order by a", "recursive"),
        ("select unnest(l) as a, unnest(m) as b from t order by a", "two unnests"),
        ("select array_agg(a order by b) as l from t order by l", "array_agg"),
        ("select array_agg(a) as l from t order by l", "array_agg"),
        ("select list_sort(array_agg(a)) as l from t order by l", "array_agg"),
        ("select p -> '$.s' as v from t order by v", "JSONExtract"),
        ("select hash(a) as h from t order by h", "not on the list"),
        ("select percentile_cont(0.5) within group (order by a) as p from t order by p", "not on the list"),
        ("select quantile_cont(a, 0.5) as p from t order by p", "not on the list"),
        ("select epoch(a) as e from t order by e", "not on the list"),
        ("select [x + 1 for x in l] as e from t order by e", "not on the list"),
        ("select a from t asof join u using (a) order by a", "asof join"),
        ("select time_bucket(interval 1 day, a) as b from t order by b", "not on the list"),
        ("select columns('a.*') from t order by a", "not on the list"),
        ("select a from t positional join u order by a", "positional join"),
        ("select a::uuid as u from t order by u", "type"),
        ("select a::hugeint as u from t order by u", "type"),
        ("select a from t union by name select b from u order by a", "union by name"),
        ("select a from t", "order by"),
    ],
)  # fmt: skip
def test_what_is_known_to_differ_is_refused(sql, fault):
    found = faults(sql)

    assert found
    assert fault in "; ".join(found)


def test_what_is_known_to_be_the_same_is_not():
    sql = """
    with latest as (
        select n.id, n.payload ->> '$.kind' as kind,
            row_number() over (partition by n.id order by n.seq desc) as rn
        from nodes as n left join edges as e on n.id = e.src
        where e.src is null or not exists (select 1 from gone as g where g.id = n.id)
    )
    select kind, count(*) as n, count(*) filter (where rn > 1) as later,
        sum(rn)::bigint as total, arg_max(id, rn) as last, string_agg(id, ',' order by id) as ids,
        list_sort(array_agg(id) filter (where id is not null)) as all_ids,
        coalesce(max(rn), $least) as most, bool_or(rn = 1) as first, count_if(rn = 2) as seconds
    from latest semi join papers using (id) where kind in ('a', 'b') and id like 'x%'
    group by kind having count(*) > 1 order by kind desc nulls last limit 5
    """

    assert faults(sql) == []
