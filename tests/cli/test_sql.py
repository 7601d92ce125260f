import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ASKED = "select session_id, kind, cursor from sessions order by session_id"


def test_an_answer_is_json_where_no_terminal_is(searched, experimented):
    assert searched.json("sql", ASKED) == [
        {"session_id": "e", "kind": "experiment", "cursor": 4},
        {"session_id": "s", "kind": "graph", "cursor": 10},
    ]


def test_an_answer_without_rows_is_an_empty_list(searched):
    assert searched("sql", "select 1 as one where false").stdout == "[]\n"


def test_ndjson_has_a_row_a_line(searched):
    shown = searched("sql", "from range(2) as t(x)", shape="ndjson").stdout

    assert shown == '{"x":0}\n{"x":1}\n'


def test_csv_gives_every_cell_whole(searched):
    shown = searched(
        "sql", """select 'a"b,c' as text, null as none, 1.5 as x""", shape="csv"
    ).stdout

    assert shown == 'text,none,x\n"a""b,c",,1.5\n'


def test_markdown_escapes_what_would_end_a_cell(searched):
    shown = searched("sql", "select 'a|b' as x, 'c\nd' as y", shape="markdown").stdout

    assert shown == "| x | y |\n| --- | --- |\n| a\\|b | c d |\n"


def test_a_table_counts_its_rows(searched):
    shown = searched("sql", "select 'a' as name, 1 as n", shape="table").stdout

    assert shown.splitlines() == ["name   n", "────────", "a      1", "1 row"]


@pytest.mark.parametrize("place", [0, 2])
def test_json_is_short_for_the_format_wherever_it_stands(searched, place):
    asked = ["sql", "select 1 as n"]

    shown = searched(*asked[:place], "--json", *asked[place:], shape="csv").stdout

    assert json.loads(shown) == [{"n": 1}]


def test_parquet_and_arrow_can_be_read_back(searched):
    parquet = searched("sql", ASKED, shape="parquet").stdout_bytes
    arrow = searched("sql", ASKED, shape="arrow").stdout_bytes

    expected = searched.json("sql", ASKED)
    assert pq.read_table(io.BytesIO(parquet)).to_pylist() == expected
    assert pa.ipc.open_stream(arrow).read_all().to_pylist() == expected


@pytest.mark.parametrize("shape", ["parquet", "arrow"])
def test_only_sql_answers_in_binary(searched, shape):
    result = searched("sessions", shape=shape)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: sessions has no format {shape}\n")


def test_a_format_that_cannot_be_is_refused_before_anything_is_done(varvite):
    result = varvite("graph", "open", "s", "--create", shape="arrow")

    assert result.exit_code == 2
    assert not varvite.store.exists()


def test_parameters_are_values_never_text(searched):
    asked = "select typeof($a) as a, typeof($b) as b, $c as c"

    found = searched.json("sql", asked, "-p", "a=5", "-p", "b=x' or 1", "-p", 'c="7"')

    assert found == [{"a": "INTEGER", "b": "VARCHAR", "c": "7"}]


@pytest.mark.parametrize("given", ["nothing", "=5"])
def test_a_parameter_without_name_or_value_is_a_usage_error(searched, given):
    assert searched.refused(2, "sql", "select 1", "-p", given)["code"] == "usage"


def test_a_statement_comes_from_stdin(searched):
    assert searched.json("sql", "-", stdin="select 42 as x") == [{"x": 42}]


def test_a_statement_that_fails_exits_with_five(searched):
    error = searched.refused(5, "sql", "select nothing from nowhere")

    assert error["code"] == "query_failed"
    assert "nowhere" in error["message"]


def test_a_missing_query_names_those_that_ship(searched):
    assert searched.refused(2, "sql")["code"] == "usage"


def test_a_name_that_no_query_has_is_not_found(searched):
    assert searched.refused(3, "sql", "nosuchquery")["code"] == "not_found"


def test_a_question_is_put_to_one_session(searched, experimented):
    found = searched.json("sql", "select distinct session_id from records", "--session", "e")

    assert found == [{"session_id": "e"}]


def test_a_question_is_put_to_the_past(searched, experimented):
    asked = "select count(*) as n from records"

    at_cursor = searched.json("sql", asked, "--session", "e", "--as-of", "1")
    by_name = searched.json("sql", asked, "--as-of", "e=1", "--as-of", "s=10")
    at_time = searched.json("sql", asked, "--as-of", "2020-01-01T00:00Z")

    assert [rows[0]["n"] for rows in (at_cursor, by_name, at_time)] == [1, 11, 0]


@pytest.mark.parametrize("given", [["e=x"], ["2", "3"], ["e=1", "4"], ["someday"]])
def test_a_past_that_is_none_is_refused(experimented, given):
    options = [option for one in given for option in ("--as-of", one)]

    assert experimented.refused(2, "sql", "select 1", *options)["message"]


def test_a_bare_cursor_of_several_sessions_is_refused(searched, experimented):
    error = searched.refused(2, "sql", ASKED, "--as-of", "2")

    assert error["hint"] == "name one session, or give SESSION=CURSOR pairs"


def test_numbers_texts_and_times_keep_their_value_in_json(searched):
    asked = """select 170141183460469231731687303715884105727::hugeint as huge,
        sum(x) as total, 1.50::decimal(4, 2) as exact, [1, null] as list, {'a': 'b'} as struct,
        timestamptz '2026-01-02 03:04:05.678Z' as moment, 'x'::blob as bytes, interval 90 second as i
        from range(3) as t(x)"""

    text = searched("sql", asked).stdout

    assert '"huge":170141183460469231731687303715884105727,' in text
    assert '"exact":1.50,' in text
    found = json.loads(text)[0]
    assert found["total"] == 3
    assert found["list"] == [1, None]
    assert found["struct"] == {"a": "b"}
    assert found["moment"] == "2026-01-02T03:04:05.678000Z"
    assert found["bytes"] == "78"


def test_columns_of_one_name_are_all_given(searched):
    assert list(searched.json("sql", "select 1 as a, 2 as a")[0].values()) == [1, 2]


def test_json_cannot_move_the_cursor_of_a_terminal(searched):
    text = searched("sql", "select chr(27) || chr(155) || chr(8238) || chr(127) as x").stdout

    assert text == '[{"x":"\\u001b\\u009b\\u202e\\u007f"}]\n'


def test_a_view_that_there_is_not_is_refused_with_the_names_of_those_there_are(searched):
    error = searched.refused(5, "sql", "from node")

    names = error["hint"].removeprefix("the views: ").split(";")[0].split(", ")
    assert {"nodes", "runs", "sessions"} <= set(names)
    assert searched.refused(5, "sql", "select nope from nodes")["hint"] == ""
