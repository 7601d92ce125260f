import duckdb
import pytest


def bare(script):
    """A DuckDB that knows nothing of varvite, with the script run in it."""
    connection = duckdb.connect()
    connection.execute(script)
    return connection


ASKED = (
    "from sessions order by session_id",
    "select * from nodes order by seq",
    "select * from records order by session_id, seq",
    "select * from runs order by seq",
    "select * from best_runs",
    "select * from segments order by path",
)


def test_a_bare_duckdb_gives_what_the_store_gives(searched, experimented):
    from varvite.store import Store

    searched.json("compact")

    script = searched("sql", "--init").stdout

    found = bare(script)
    for asked in ASKED:
        assert found.sql(asked).fetchall() == Store(searched.store).sql(asked).rows()


def test_the_tail_is_not_in_it_and_its_header_says_how_far_it_goes(
    searched, experimented, response
):
    searched.json("compact")
    before = searched.json("sql", "select max(seq) as n from records where session_id = 'e'")
    searched.json(
        "experiment", "append", "--session", "e", stdin='{"type":"run","status":"keep","metric":1}'
    )

    script = searched("sql", "--init").stdout

    assert bare(script).sql("select max(seq) from records where session_id = 'e'").fetchall() == [
        (before[0]["n"],)
    ]
    header = [line for line in script.splitlines() if line.startswith("--")]
    assert any("Manifest generation 1" in line for line in header)
    assert f"--   e  cursor {before[0]['n']}" in header


def test_it_can_be_run_again(searched):
    searched.json("compact")
    script = searched("sql", "--init").stdout

    connection = bare(script)
    connection.execute(script)

    assert connection.sql("select count(*) from nodes").fetchall() == [(3,)]


def test_a_store_that_was_never_compacted_has_the_views_and_no_rows(searched):
    script = searched("sql", "--init").stdout

    assert bare(script).sql("select count(*) from nodes").fetchall() == [(0,)]


@pytest.mark.parametrize("given", [["select 1"], ["-p", "a=1"]])
def test_it_asks_nothing(searched, given):
    assert searched.refused(2, "sql", "--init", *given)["code"] == "usage"
