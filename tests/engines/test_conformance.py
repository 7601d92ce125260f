"""What every engine must do. A further engine is one more entry of ENGINES."""

import datetime as dt
import math
import os
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import varvite
from varvite.engines.local import Local
from varvite.errors import CorruptError, InputError, NotFoundError, QueryError
from varvite.query import statements
from varvite.query.snapshot import Snapshot
from varvite.segments.scan import connect
from varvite.testing import growing

SQL = {
    "c_kinds": """-- Nodes by kind.
-- params:   least      bigint   not null
-- columns:  node_kind  varchar  not null
--           nodes      bigint   not null
select node_kind, count(*) as nodes from nodes group by node_kind having count(*) >= $least
order by node_kind""",
    "c_ids": """-- Ids, last first.
-- columns:  id   varchar  not null
--           seq  bigint   not null
select id, seq from nodes order by seq desc""",
    "c_less": """-- The table itself, one row less.
-- columns:  id   varchar  not null
--           seq  bigint   not null
select id, seq from ids where seq < (select max(seq) from ids) order by seq desc""",
    "c_all": """-- The table as it stands.
-- columns:  n  bigint  not null
select n from given order by n""",
    "c_unordered": """-- The table in its own order.
-- columns:  n  bigint  not null
select n from given""",
    "c_nulls": """-- Nulls sort last.
-- columns:  n  bigint  null
select n from given order by n nulls last""",
    "c_types": """-- One of each type.
-- columns:  i  bigint       not null
select * from given""",
    "c_broken": """-- Not SQL.
-- columns:  i  bigint  not null
select missing from nowhere""",
}
ROWS = 200_000


def local(folder, cursors, *, threads=None, memory_limit=None):
    snapshot = Snapshot(
        folder,
        sessions=list(cursors),
        as_of=cursors,
        connection=lambda: connect(threads=threads, memory_limit=memory_limit),
    )
    return Local(snapshot)


ENGINES = {"duckdb": local, "duckdb, one thread": lambda *a: local(*a, threads=1)}


@pytest.fixture(scope="module", autouse=True)
def _statements():
    made = {name: statements.parse(name, text) for name, text in SQL.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statements, "checkpoints", lambda: made)
        yield


@pytest.fixture(scope="module", params=["journal", "segments", "both"])
def store(request, tmp_path_factory):
    made = varvite.open(tmp_path_factory.mktemp("store"))
    growing.graph(made, "s", 200)
    if request.param != "journal":
        made.compact()
    if request.param == "both":
        with made.graph("s") as session:
            session._writer.append([{"stream": "nodes", "id": "late", "node_kind": "variable"}])
    return made


@pytest.fixture(params=ENGINES)
def engine(request, store):
    with store._folder() as folder:
        cursor = store.session("s")["cursor"]
        with closing(ENGINES[request.param](folder, {"s": cursor})) as opened:
            yield opened


def rows(table):
    return [tuple(row.values()) for row in table.to_pylist()]


def whole(engine, table):
    return pa.Table.from_batches(list(engine.batches(table)))


def test_it_says_what_it_is(engine):
    assert engine.name
    assert engine.version


def test_a_statement_is_asked_by_name_with_its_parameters(engine, store):
    found = engine.ask("c_kinds", {"least": 2})

    asked = "select node_kind, count(*) from nodes group by 1 having count(*) >= 2 order by 1"
    assert rows(found) == store.sql(asked).rows()
    assert found.column_names == ["node_kind", "nodes"]


def test_a_table_is_made_of_an_answer_in_its_order(engine, store):
    made = engine.make("ids", "c_ids")

    expected = store.sql("select id, seq from nodes order by seq desc").rows()
    assert made == len(expected)
    assert rows(whole(engine, "ids")) == expected
    assert engine.tables() == ["ids"]


def test_a_table_can_be_made_of_itself(engine):
    first = engine.make("ids", "c_ids")
    seen = rows(whole(engine, "ids"))

    made = engine.make("ids", "c_less")

    assert made == first - 1
    assert rows(whole(engine, "ids")) == seen[1:]


def test_rows_given_come_back_in_their_order_however_many(engine):
    given = pa.table({"n": pa.array([(i * 7919) % ROWS for i in range(ROWS)], pa.int64())})

    engine.put("given", given)

    assert whole(engine, "given")["n"].to_pylist() == given["n"].to_pylist()
    assert engine.ask("c_unordered")["n"].to_pylist() == given["n"].to_pylist()
    assert engine.ask("c_all")["n"].to_pylist() == list(range(ROWS))


def test_a_file_is_read_where_it_lies_in_its_order(engine, tmp_path):
    given = pa.table({"n": pa.array([(i * 7919) % ROWS for i in range(ROWS)], pa.int64())})
    pq.write_table(given, tmp_path / "given.parquet", row_group_size=1000)

    engine.load("given", str(tmp_path / "given.parquet"))

    assert whole(engine, "given")["n"].to_pylist() == given["n"].to_pylist()
    assert engine.make("copy", "c_all") == ROWS


def test_every_type_comes_through_whole(engine, tmp_path):
    moment = dt.datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=dt.UTC)
    given = pa.table(
        {
            "i": pa.array([2**63 - 1, -(2**63), None], pa.int64()),
            "d": pa.array([0.1, -math.inf, None], pa.float64()),
            "b": pa.array([True, False, None]),
            "s": pa.array(["é 漢 🜁 ' \" \\ \x01", "", None]),
            "t": pa.array([moment, moment, None], pa.timestamp("us", tz="UTC")),
            "l": pa.array([["a", "", "ü"], [], None], pa.list_(pa.string())),
        }
    )
    pq.write_table(given, tmp_path / "given.parquet")

    engine.put("given", given)
    put = engine.ask("c_types").to_pylist()
    engine.load("given", str(tmp_path / "given.parquet"))
    loaded = engine.ask("c_types").to_pylist()

    assert put == loaded == given.to_pylist()


def test_nulls_sort_last_where_that_is_asked(engine):
    engine.put("given", pa.table({"n": pa.array([None, 2, None, 1], pa.int64())}))

    assert engine.ask("c_nulls")["n"].to_pylist() == [1, 2, None, None]


def test_an_empty_table_keeps_its_types(engine):
    engine.make("none", "c_kinds", {"least": 10**9})

    (batch,) = engine.batches("none")

    assert batch.num_rows == 0
    assert batch.schema.names == ["node_kind", "nodes"]
    assert batch.schema.field("nodes").type == pa.int64()


def test_what_is_dropped_is_gone(engine):
    engine.put("given", pa.table({"n": [1]}))

    engine.drop("given")

    assert engine.tables() == []
    with pytest.raises(QueryError):
        engine.ask("c_all")


def test_it_sees_nothing_beyond_its_cursor(store):
    with store._folder() as folder:
        cursor = store.session("s")["cursor"]
        opened = [make(folder, {"s": cursor}) for make in ENGINES.values()]
        before = [rows(engine.ask("c_ids")) for engine in opened[:1]]
        with store.graph("s") as session:
            session._writer.append([{"stream": "nodes", "id": "x", "node_kind": "variable"}])

        after = [rows(engine.ask("c_ids")) for engine in opened]
        later = local(folder, {"s": cursor})

        assert after == before * len(opened)
        assert rows(later.ask("c_ids")) == before[0]
        for engine in [*opened, later]:
            engine.close()


def test_no_such_statement_parameter_or_relation(engine):
    with pytest.raises(NotFoundError):
        engine.ask("c_nothing")
    with pytest.raises(InputError):
        engine.ask("c_kinds")
    with pytest.raises(InputError):
        engine.make("t", "c_kinds", {"least": 1, "most": 2})
    with pytest.raises(QueryError):
        engine.ask("c_broken")
    assert engine.tables() == []


def test_a_failed_statement_leaves_the_table_that_it_would_have_replaced(engine):
    engine.put("given", pa.table({"n": [1]}))

    with pytest.raises(QueryError):
        engine.make("given", "c_broken")

    assert whole(engine, "given")["n"].to_pylist() == [1]


def test_it_says_how_much_of_the_store_it_looked_at(engine, store):
    before = engine.read()
    engine.ask("c_ids")
    once = engine.read()
    engine.ask("c_ids")

    assert before == (0, 0)
    assert once[0] == store.sql("select count(*) from node_revisions").rows()[0][0]
    assert once[1] > 0
    assert engine.read() == once


def test_a_damaged_segment_is_an_error_and_not_an_answer(tmp_path):
    store = varvite.open(tmp_path / "store")
    growing.graph(store, "s", 200)
    store.compact()
    ((path,),) = store.sql("select path from segments where stream = 'nodes'").rows()
    file = f"{store.path}/_lake/{path}"
    with open(file, "r+b") as opened:
        opened.seek(os.path.getsize(file) // 2)
        opened.write(b"\0\1\2\3")

    for make in ENGINES.values():
        cursors = {"s": store.session("s")["cursor"]}
        with (
            store._folder() as folder,
            closing(make(folder, cursors)) as engine,
            pytest.raises(CorruptError),
        ):
            engine.ask("c_ids")


def test_within_its_memory_it_spills_rather_than_fails(store):
    given = pa.table({"n": pa.array([(i * 7919) % (20 * ROWS) for i in range(20 * ROWS)])})
    with store._folder() as folder:
        cursors = {"s": store.session("s")["cursor"]}
        with closing(local(folder, cursors, memory_limit="64MB")) as engine:
            engine.put("given", given)

            assert engine.make("sorted", "c_all") == 20 * ROWS
