"""Answers, and what is no question."""

import importlib.util
import sys
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from varvite.errors import QueryError, VarviteError
from varvite.query import catalog, naming
from varvite.query.result import HTML_CELL_CHARS_MAX, HTML_ROWS_MAX, Result
from varvite.segments.scan import connect

THREE = "select * from (values (1, 'a', 0.5), (2, null, 1e300), (3, 'c', null)) as t(n, s, d)"
ROWS = [(1, "a", 0.5), (2, None, 1e300), (3, "c", None)]


def test_one_answer_in_every_form(fresh):
    answer = fresh.sql(f"select n, s, d::double as d from ({THREE})")

    assert answer.rows() == ROWS
    assert answer.columns == ["n", "s", "d"]
    assert answer.dicts() == [dict(zip("nsd", row, strict=True)) for row in ROWS]
    assert answer.pl().rows() == ROWS
    assert answer.arrow().to_pylist() == answer.dicts()
    assert len(answer) == 3
    assert repr(answer) == "<Result 3 rows: n, s, d>"


@pytest.mark.skipif(not importlib.util.find_spec("pandas"), reason="pandas is not installed")
def test_an_answer_is_a_pandas_frame_where_pandas_is(fresh):
    frame = fresh.sql("select 1 as n union all select 2 order by n").df()

    assert list(frame["n"]) == [1, 2]


def test_libraries_take_the_arrow_stream_as_it_is(fresh):
    answer = fresh.sql(f"select n, s, d::double as d from ({THREE})")

    assert pl.DataFrame(answer).rows() == ROWS
    assert pa.table(answer).to_pylist() == answer.dicts()
    assert duckdb.sql("select count(*) from answer").fetchall() == [(3,)]


def test_an_answer_without_rows_keeps_its_columns_and_types(fresh):
    answer = fresh.sql("select seq, metric, committed_at from runs where false")

    assert answer.rows() == answer.dicts() == []
    assert answer.pl().schema == {
        "seq": pl.Int64,
        "metric": pl.Float64,
        "committed_at": pl.Datetime("us", "UTC"),
    }


def test_a_column_of_a_name_twice_is_kept_twice(fresh):
    answer = fresh.sql("select 1 as a, 2 as a, 3 as a_1, 4 as A, 5 as a")

    assert answer.rows() == [(1, 2, 3, 4, 5)]
    assert len(set(answer.columns)) == 5
    assert list(answer.dicts()[0].values()) == [1, 2, 3, 4, 5]
    assert answer.pl().rows() == [(1, 2, 3, 4, 5)]


def test_times_are_utc_in_every_form(fresh):
    answer = fresh.sql("select timestamptz '2026-01-31 12:00:00+05:30' as at")

    moment = datetime(2026, 1, 31, 6, 30, tzinfo=UTC)
    assert answer.rows() == answer.pl().rows() == [(moment,)]
    assert answer.rows()[0][0].utcoffset() == timedelta(0)


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "</td></tr></table><img src=x onerror=alert(1)>",
        "\"'&<>",
        "&lt;b&gt;",
        "<!-- ",
        "\u202e\x01<b>",
        "<" * 500,
    ],
)
def test_no_cell_and_no_name_can_leave_its_place_in_the_html(fresh, hostile):
    name = '"' + hostile.replace('"', '""') + '"'
    seen = Cells()

    seen.feed(fresh.sql(f"select $v as {name}, 'x' as y", {"v": hostile})._repr_html_())

    tags = ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert seen.tags == [(tag, []) for tag in tags]
    assert "".join(seen.texts) == f"{hostile}y{hostile[:HTML_CELL_CHARS_MAX]}x"


def test_the_html_shows_the_first_rows_and_says_how_many_more_there_are(fresh):
    html = fresh.sql("select range as n, null as nothing from range(120)")._repr_html_()

    assert html.count("<tr>") == HTML_ROWS_MAX + 1
    assert "<caption>70 more rows</caption>" in html
    assert "None" not in html


def test_parameters_are_bound_not_pasted(fresh):
    hostile = "'; drop table x; --"

    assert fresh.sql("select $a as a, $b as b", {"a": hostile, "b": None}).rows() == [
        (hostile, None)
    ]
    assert fresh.sql("select ? + ?", [1, 2]).rows() == [(3,)]
    assert fresh.sql("select count(*) from nodes where id = $id", {"id": hostile}).rows() == [(0,)]


@pytest.mark.parametrize(
    ("sql", "params"),
    [
        ("select $a", None),
        ("select $a", {"b": 1}),
        ("select ?", [1, 2]),
        pytest.param("select ?", [object()], id="no type of SQL"),
        ("select ?", ["\ud800"]),
        ("select $a", {"a": "\ud800"}),
        ("select 1", {"a": 1}),
        ("select nothing from nodes", None),
        ("select * from nowhere", None),
        ("select * from streams.nowhere", None),
        ("select * from nodes where", None),
        ("select error('stop')", None),
        ("select 'x'::bigint", None),
        ("select '\ud800'", None),
        ("select * from nodes limit -1", None),
        ("(" * 3000, None),
        ("select " + "+".join(["1"] * 5000), None),
        ("select * from read_parquet('/nowhere/at/all.parquet')", None),
    ],
    ids=lambda value: str(value)[:30].encode(errors="replace").decode(),
)
def test_what_duckdb_refuses_is_a_query_error(fresh, sql, params):
    with pytest.raises(QueryError) as caught:
        fresh.sql(sql, params)

    assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; select 2",
        "select 1; drop table catalog.sessions",
        "",
        " ",
        "-- nothing",
        ";",
        "create table x as select 1",
        "insert into catalog.sessions select * from catalog.sessions",
        "drop table catalog.sessions",
        "copy (select 1) to '{path}'",
        "export database '{path}'",
        "attach '{path}' as other",
        "set threads = 1",
        "pragma database_list",
        "install httpfs",
        "load json",
        "begin",
        "checkpoint",
        "use catalog",
        "prepare p as select 1",
        "call pragma_version()",
        "vacuum",
    ],
)
def test_what_is_not_one_question_is_refused_before_it_runs(fresh, tmp_path, sql):
    path = tmp_path / "written"

    with pytest.raises(QueryError) as caught:
        fresh.sql(sql.format(path=path) + " ")

    assert caught.value.hint
    assert not path.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from nodes",
        "from nodes select count(*)",
        "with n as (from nodes) select count(*) from n",
        "describe nodes",
        "summarize nodes",
        "explain select * from nodes",
        "table nodes",
        "values (1)",
        "(select 1)",
        "pivot nodes on node_kind using count(*) group by session_id",
        "from (pivot nodes on node_kind using count(*) group by session_id)",
        "from query('select count(*) from nodes')",
        "from query_table('nodes')",
        "select 1; ",
        "/* nodes */ select 1 -- runs",
        "show tables",
        "show all tables",
        "select count(*) from duckdb_views() where view_name = 'nodes'",
        "select * from information_schema.tables where table_name = 'nodes'",
        'select count(*) from "main"."NODES"',
        'select count(*) from STREAMS . "Nodes"',
        "select (select max(seq) from streams.nodes) + (select count(*) from runs)",
        "select 1 where exists (from edges)",
        "select * from nodes semi join edges on nodes.id = edges.src limit 1",
        "from nodes positional join edges limit 1",
        "select count(*) from streams._all",
    ],
)
def test_every_way_to_ask_is_answered(fresh, sql):
    assert len(fresh.sql(sql)) >= 1


def test_show_tables_lists_every_view(fresh):
    from varvite.query import statements

    assert {name for (name,) in fresh.sql("show tables").rows()} == set(statements.views())


@pytest.mark.parametrize(
    ("sql", "views", "streams"),
    [
        ("select nodes, 'edges' as runs from records -- sessions", {"records"}, set()),
        ("with nodes as (from streams.edges) from nodes", {"nodes"}, {"edges"}),
        ('select * from "streams"."Nodes" as edges, STREAMS.weather', set(), {"nodes", "weather"}),
        ("select $edges from runs where id in (select id from nodes)", {"runs", "nodes"}, set()),
        ("from runs as nodes(edges) join best_runs using (segment)", {"runs", "best_runs"}, set()),
        ("select nodes.id, records.* from nodes, records", {"nodes", "records"}, set()),
    ],
)
def test_what_a_question_reads_is_what_it_names_as_a_relation(sql, views, streams):
    with connect() as connection:
        found = naming.named(connection, sql)

    assert (found.views, found.streams, found.listing) == (views, streams, False)


def test_tables_of_the_catalog_are_made_for_the_question_that_reads_them(fresh):
    with connect() as connection:
        found = naming.named(connection, "from catalog.Sessions join segments using (stream)")

    assert (found.tables, found.views) == ({"sessions"}, {"segments"})
    for name in catalog.TABLES:
        assert fresh.sql(f"from catalog.{name}").columns == list(catalog.TABLES[name])


def test_a_question_that_cannot_be_parsed_alone_reads_whatever_its_words_may_name():
    with connect() as connection:
        found = naming.named(connection, 'explain select nodes from streams."edges" -- runs')

    assert {"nodes", "runs"} <= found.views
    assert found.streams == {"edges"}


def test_no_variable_of_the_program_is_a_relation(fresh):
    for name in ("params", "sql", "statements", "self", "relation"):
        with pytest.raises(QueryError, match="does not exist"):
            fresh.sql(f"from {name}")


def test_an_error_says_what_to_do_and_is_one_of_ours(fresh):
    with pytest.raises(VarviteError) as caught:
        fresh.sql("select nod from nodes")

    assert "nod" in caught.value.message
    assert caught.value.as_dict()["code"] == "query_failed"


def test_a_result_is_made_of_any_table():
    assert Result(pa.table({"a": [1]})).rows() == [(1,)]


def test_without_pandas_df_names_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(ModuleNotFoundError, match=r"varvite\[pandas\]"):
        Result(pa.table({"n": [1]})).df()
