"""The SQL files: what their headers promise, and how they are written."""

import re
from pathlib import Path

import duckdb
import pytest

from varvite.errors import InputError, NotFoundError
from varvite.query import reference, statements
from varvite.records.contracts import CONTRACTS

ROOT = Path(__file__).parents[2]
VIEWS, QUERIES = statements.views(), statements.queries()
FILES = sorted((ROOT / "sql").glob("*/*.sql"))
KINDS = {
    "VARCHAR": "varchar",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "VARCHAR[]": "varchar[]",
}


@pytest.fixture(scope="module")
def connections(fresh, layered):
    opened = [fresh.connect(), layered.connect()]
    yield opened
    for one in opened:
        one.close()


def shape(relation):
    return [
        (name, KINDS[str(kind)])
        for name, kind in zip(relation.columns, relation.types, strict=True)
    ]


def promised(statement):
    return [(column.name, column.type) for column in statement.columns]


def asked(connection, statement):
    params = dict.fromkeys(param.name for param in statement.params)
    return connection.sql(statement.text, params=params or None)


def nulls(relation, statement):
    """The columns that must not be null, with how many nulls they have."""
    names = [column.name for column in statement.columns if not column.nullable]
    counts = ", ".join(f'count(*) filter (where "{name}" is null)' for name in names)
    found = relation.query("answer", f"select {counts} from answer").fetchall()[0]
    return dict(zip(names, found, strict=True))


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_gives_the_columns_of_its_header(connections, name):
    for connection in connections:
        relation = connection.sql(f"from {name}")

        assert shape(relation) == promised(VIEWS[name])
        assert set(nulls(relation, VIEWS[name]).values()) == {0}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_the_columns_of_its_header(connections, name):
    for connection in connections:
        relation = asked(connection, QUERIES[name])

        assert shape(relation) == promised(QUERIES[name])
        assert set(nulls(relation, QUERIES[name]).values()) == {0}


def test_every_view_and_query_has_rows_in_the_stores_they_are_held_against(connections):
    _, layered = connections

    for name in VIEWS:
        assert layered.sql(f"from {name} limit 1").fetchall(), name
    for name, query in QUERIES.items():
        assert asked(layered, query).fetchall(), name


def test_an_empty_store_answers_every_question_with_no_rows(store):
    Path(store.path).mkdir()

    for name in VIEWS:
        assert store.sql(f"from {name}").rows() == []
    for name in QUERIES:
        assert store.sql(name).rows() == []


def test_a_view_is_the_same_to_describe_before_and_after_compaction(connections):
    fresh, layered = connections

    for name in VIEWS:
        before = fresh.sql(f"describe {name}").fetchall()
        assert layered.sql(f"describe {name}").fetchall() == before


def test_the_tail_and_the_segments_give_a_stream_the_same_shape(connections):
    fresh, layered = connections

    names = fresh.sql("select view_name from duckdb_views() where schema_name = 'streams'")
    assert {(name,) for name in (*CONTRACTS, "weather", "_all")} <= {*names.fetchall()}
    for (name,) in names.fetchall():
        before = fresh.sql(f'describe streams."{name}"').fetchall()
        assert layered.sql(f'describe streams."{name}"').fetchall() == before


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_one_select_in_lower_case(file):
    text = file.read_text("utf-8")
    statement = statements.parse(file.stem, text)

    (parsed,) = duckdb.extract_statements(text)
    assert parsed.type == duckdb.StatementType.SELECT
    assert ";" not in statement.text
    for line, (place, kind) in tokens(statement.text):
        if kind == duckdb.token_type.keyword:
            assert line == line.lower(), (file.name, place, line)


def tokens(text):
    found = duckdb.tokenize(text)
    ends = [place for place, _ in found[1:]] + [len(text)]
    data = text.encode()
    for (place, kind), end in zip(found, ends, strict=True):
        yield data[place:end].decode(errors="replace").strip(), (place, kind)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_laid_out_as_the_others(file):
    text = file.read_text("utf-8")
    lines = text.splitlines()

    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert not [line for line in lines if line != line.rstrip() or "\t" in line]
    assert not [line for line in lines if len(line) > 120]
    header = [line for line in lines if line.startswith("--")]
    assert lines[: len(header)] == header


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_header_says_what_the_statement_answers_costs_takes_and_gives(file):
    statement = statements.parse(file.stem, file.read_text("utf-8"))
    header = [line for line in file.read_text("utf-8").splitlines() if line.startswith("--")]
    fields = [line for line in header if re.match(r"--( \w+: |   +)", line)]

    assert statement.summary.endswith(".")
    assert statement.details.endswith(".")
    assert len(fields) == len(statement.params) + len(statement.columns)
    for line in fields:
        assert re.search(r"  +(not null|null)(  |$)", line), line
    for column in (*statement.params, *statement.columns):
        assert column.type in KINDS.values()
    names = {param.name for param in statement.params}
    assert set(re.findall(r"\$(\w+)", statement.text)) == names


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_file_lets_duckdb_guess_or_skip(file):
    text = file.read_text("utf-8")

    assert not re.search(r"ignore_errors|read_\w+|auto_detect|sample_size|glob", text)


def test_no_column_is_a_decimal_and_every_time_is_utc_in_arrow(connections):
    kinds = {"string", "int64", "double", "bool", "timestamp[us, tz=UTC]", "list<l: string>"}

    for connection in connections:
        for name in VIEWS:
            schema = connection.sql(f"from {name} limit 0").to_arrow_table().schema
            assert kinds.issuperset(map(str, schema.types)), name


def test_the_document_is_what_the_headers_make_of_it():
    text = (ROOT / "docs" / "sql.md").read_text("utf-8")

    assert reference.refreshed(text) == text
    for name in (*VIEWS, *QUERIES):
        assert f"\n### {name}\n" in text


def test_every_statement_of_the_document_runs(layered):
    text = (ROOT / "docs" / "sql.md").read_text("utf-8")

    blocks = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)

    assert len(blocks) == 3
    for block in blocks:
        assert layered.sql(block).rows()


def test_the_module_writes_the_document_anew(tmp_path, monkeypatch):
    import runpy
    import sys

    document = tmp_path / "sql.md"
    document.write_text("before\n<!-- streams -->\nstale\n<!-- end -->\nafter\n")
    monkeypatch.setattr(sys, "argv", ["reference", str(document)])
    monkeypatch.delitem(sys.modules, "varvite.query.reference")

    runpy.run_module("varvite.query.reference", run_name="__main__")

    made = document.read_text()
    assert made.startswith("before\n<!-- streams -->\n\n| relation |")
    assert made.endswith("\n<!-- end -->\nafter\n")
    assert "stale" not in made


def test_a_named_query_takes_its_parameters_by_name_and_may_go_without(layered):
    given = layered.sql("most_seen", {"top": 3})

    assert len(given) == 3
    assert len(layered.sql("most_seen", {"top": "2"})) == 2
    assert len(layered.sql("most_seen")) == len(layered.sql("most_seen", {"top": None})) == 20
    assert given.rows() == layered.sql("most_seen").rows()[:3]


@pytest.mark.parametrize("params", [{"limit": 3}, [3], {"top": 3, "x": 1}])
def test_a_parameter_that_a_named_query_has_not_is_refused_with_those_it_has(layered, params):
    with pytest.raises(InputError) as caught:
        layered.sql("most_seen", params)

    assert caught.value.hint == "its parameters: top bigint"


def test_a_parameter_that_must_be_there_is_missed():
    statement = statements.parse(
        "q", "-- A.\n--\n-- B.\n--\n-- params:   id  varchar  not null  which\nselect $id"
    )

    with pytest.raises(InputError):
        statement.bound({})
    assert statement.bound({"id": 1}) == {"id": 1}


def test_a_query_that_there_is_not_is_missed_with_the_names_of_those_there_are(fresh):
    with pytest.raises(NotFoundError) as caught:
        fresh.sql("most_sean")

    assert "most_seen" in caught.value.hint


def test_a_header_that_is_no_header_is_refused():
    with pytest.raises(ValueError, match="not a column"):
        statements.parse("q", "-- A.\n--\n-- columns:  *** what\nselect 1")


def test_the_package_has_the_sql_that_lies_beside_the_sources():
    assert sorted(VIEWS) == sorted(file.stem for file in FILES if file.parent.name == "views")
    assert sorted(QUERIES) == sorted(file.stem for file in FILES if file.parent.name == "queries")
