"""The frame of checkpoints: resume, idempotence, proposals, receipts."""

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

import varvite
from varvite.checkpoints.job import Stage
from varvite.errors import (
    CorruptError,
    InputError,
    NotFoundError,
    QueryError,
    SessionLockedError,
    SessionNotFoundError,
    StoppedError,
    VarviteError,
)
from varvite.session import inbox
from varvite.testing.faulty import Fail, Faulty
from varvite.testing.toy_job import SAYING, TOY, toy


def expected(store, as_of=None):
    return store.sql(
        "select node_kind, count(*) as nodes from nodes group by 1 order by 1", as_of=as_of
    ).dicts()


def add_node(store, node_id="more", kind="package"):
    with store.graph("s") as session:
        session._writer.append([{"stream": "nodes", "id": node_id, "node_kind": kind}])
        return session.cursor


def said(store):
    return [row[0] for row in store.sql("select body from streams.said order by seq").rows()]


def facts(ran):
    """What a run found, but for times, memory and places."""
    return {name: ran.answers.table(name).to_pylist() for name in ran.receipt.tables}, {
        "results": ran.receipt.results,
        "proposes": ran.receipt.proposes,
        "cursors": ran.receipt.cursors,
    }


def test_a_run_leaves_its_tables_and_says_what_it_read(store):
    ran = toy(store, "s")

    assert ran.state == "ran"
    assert ran.answers.table("kinds").to_pylist() == expected(store)
    assert ran.receipt.status == "finished"
    assert ran.receipt.cursors == {"s": store.session("s")["cursor"]}
    assert list(ran.receipt.sql) == ["kinds"] or set(ran.receipt.sql) == {"kinds", "halves"}
    nodes = store.sql("select count(*) from node_revisions").rows()[0][0]
    assert ran.receipt.rows_read == nodes
    assert ran.receipt.bytes_read > 0
    assert ran.receipt.rows_written == 2 * len(expected(store)) + 1
    assert ran.receipt.peak_memory_bytes > 0


def test_nothing_but_receipt_lock_and_declared_tables_stays(store):
    ran = toy(store, "s")

    assert sorted(os.listdir(ran.path)) == [
        "halves.parquet",
        "kinds.parquet",
        "lock",
        "receipt.json",
        "totals.parquet",
    ]


def test_a_run_takes_no_writer_lock_and_reads_what_is_committed_beside_it(store):
    with store.graph("s") as session:
        session._writer.append([{"stream": "nodes", "id": "more", "node_kind": "package"}])

        ran = toy(store, "s")

    assert ran.answers.table("kinds").to_pylist() == expected(store)


def test_done_once_it_is_not_done_again_at_the_same_cursor(store):
    first = toy(store, "s")
    times = {name: os.stat(f"{first.path}/{name}").st_mtime_ns for name in os.listdir(first.path)}

    again = toy(store, "s")

    assert again.state == "replayed"
    assert again.receipt == first.receipt
    assert times == {
        name: os.stat(f"{first.path}/{name}").st_mtime_ns for name in os.listdir(first.path)
    }


def test_a_later_cursor_or_another_parameter_is_another_run(store):
    first = toy(store, "s")
    second = toy(store, "s", parameters={"least": 20})
    add_node(store)

    third = toy(store, "s")

    assert len({first.path, second.path, third.path}) == 3
    assert (second.state, third.state) == ("ran", "ran")
    assert third.receipt.results["earlier"] == first.receipt.results["kinds"]


def test_as_of_a_cursor_it_reads_no_further(store):
    before = store.session("s")["cursor"]
    add_node(store)

    ran = toy(store, "s", as_of=before)

    assert ran.answers.table("kinds").to_pylist() == expected(store, as_of={"s": before})


def test_what_is_refused_at_its_first_stage_leaves_no_run_to_go_on_with(store):
    with store.graph("s") as session:
        nodes = [{"stream": "nodes", "id": f"x{n}", "node_kind": "package"} for n in range(2)]
        cursor = session._writer.append(nodes).cursor
    inside = cursor - 1

    with pytest.raises(InputError, match="no cursor"):
        toy(store, "s", as_of=inside)

    assert os.listdir(f"{store.path}/s/checkpoints") == []
    assert toy(store, "s").receipt.cursor == cursor


def test_statements_that_changed_since_make_a_run_anew(store, monkeypatch):
    from varvite.query import statements

    first = toy(store, "s")
    known = dict(statements.checkpoints())
    kinds = known["kinds"]
    known["kinds"] = replace(kinds, text=kinds.text.replace("count(*) as", "count(*) + 1 as"))
    monkeypatch.setattr(statements, "checkpoints", lambda: known)

    again = toy(store, "s")

    assert again.state == "ran"
    assert again.path == first.path
    assert again.receipt.results["total"] > first.receipt.results["total"]


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_stopped_by_time_it_goes_on_at_the_cursor_where_it_began(store, stage):
    def late(run):
        raise StoppedError("late")

    stages = list(TOY.stages)
    stages[stage] = replace(stages[stage], do=late)
    whole = facts(toy(store, "s"))
    add_node(store)
    with pytest.raises(StoppedError):
        toy(store, "s", job=replace(TOY, stages=tuple(stages)))
    cursor = add_node(store, "evenmore")

    ran = toy(store, "s")

    assert ran.state == ("resumed" if stage else "ran")
    assert ran.receipt.cursors["s"] < cursor
    assert facts(ran)[0]["kinds"] == expected(store, as_of={"s": cursor - 1})
    assert whole != facts(ran)


def test_no_time_at_all_stops_before_anything_is_read(store):
    with pytest.raises(StoppedError):
        toy(store, "s", max_seconds=0)

    assert toy(store, "s").state == "ran"


@pytest.mark.parametrize("moment", ["before", "inside", "after"])
@pytest.mark.parametrize("stage", [stage.name for stage in TOY.stages])
def test_killed_anywhere_it_comes_to_the_same(store, stage, moment):
    other = toy(store, "s", parameters={"least": 0})
    command = [sys.executable, "-m", "varvite.testing.toy_job", store.path, "s", stage, moment]

    died = subprocess.run(command, check=False)
    add_node(store)
    ran = toy(store, "s")

    assert died.returncode == -9
    assert ran.state == ("ran" if stage == "count" else "resumed")
    assert facts(ran) == facts(other)
    assert "scratch" not in os.listdir(ran.path)


def test_a_fault_of_the_disk_at_any_operation_leaves_a_run_that_goes_on(store):
    whole = facts(toy(store, "s", parameters={"least": 0}))
    faulty = Faulty()
    struck = 0
    for at in range(2, 10_000, 6):  # the first opens the store
        faulty.arm(Fail(at, errno.EIO))
        broken = varvite.open(store.path)
        broken.files = faulty
        try:
            toy(broken, "s")
        except VarviteError:
            struck += 1
        if not faulty.fault.struck:
            break
        faulty.arm(None)
        faulty.abandon()
        ran = toy(store, "s")
        assert facts(ran) == whole
        shutil.rmtree(ran.path)
    assert struck > 15


def test_a_damaged_table_is_found_before_it_is_used(store):
    ran = toy(store, "s")
    with open(f"{ran.path}/kinds.parquet", "r+b") as file:
        file.seek(40)
        byte = file.read(1)
        file.seek(40)
        file.write(bytes([byte[0] ^ 1]))

    with pytest.raises(CorruptError, match=r"kinds\.parquet is damaged"):
        ran.answers.table("kinds")


def test_a_damaged_segment_is_found_though_it_was_verified_once(store):
    store.sql("select count(*) from nodes")
    (path,) = store.sql("select path from segments where stream = 'nodes'").rows()[0]
    file = f"{store.path}/_lake/{path}"
    status = os.stat(file)
    with open(file, "r+b") as opened:
        opened.seek(status.st_size // 2)
        byte = opened.read(1)
        opened.seek(-1, os.SEEK_CUR)
        opened.write(bytes([byte[0] ^ 255]))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    with pytest.raises(CorruptError):
        toy(store, "s")


def test_two_at_once_are_one_too_many(store):
    def meet(run):
        with pytest.raises(SessionLockedError):
            toy(store, "s")
        return TOY.stages[0].do(run)

    meeting = replace(TOY, stages=(Stage("count", meet, ("kinds",)), *TOY.stages[1:]))

    assert toy(store, "s", job=meeting).state == "ran"


def test_the_writer_appends_and_compacts_and_gc_runs_while_a_job_reads(store):
    def beside(run):
        add_node(store)
        store.compact()
        add_node(store, "evenmore")
        store.compact()
        store.gc(grace_hours=0)
        run.make("halves")

    before = expected(store)
    meeting = replace(
        TOY, stages=(TOY.stages[0], Stage("halve", beside, ("halves",)), TOY.stages[2])
    )

    ran = toy(store, "s", job=meeting)

    assert ran.answers.table("kinds").to_pylist() == before
    assert ran.answers.table("halves").num_rows == len(before)
    assert [one for one in store.verify() if "checkpoints" in str(one)] == []


def test_a_table_that_a_stage_does_not_declare_is_gone_for_the_next(store):
    def needs(run):
        run.engine.batches("between").__next__()

    stages = (TOY.stages[0], Stage("needs", needs))

    with pytest.raises(Exception, match="between"):
        toy(store, "s", job=replace(TOY, stages=stages))


def test_proposals_are_data_until_they_are_handed_in(store):
    ran = toy(store, "s")

    assert ran.applied == {}
    assert ran.receipt.proposes == {"say": len(expected(store))}
    with pytest.raises(QueryError):
        said(store)


def test_what_is_handed_in_is_committed_once_where_nobody_writes(store):
    kinds = len(expected(store))

    applied = [toy(store, "s", apply=True, as_of=store.session("s")["cursor"]).applied]
    cursor = store.session("s")["cursor"]
    applied.append(toy(store, "s", apply=True, as_of=cursor - kinds).applied)

    assert applied == [{"committed": kinds}] * 2
    assert len(said(store)) == kinds


def test_what_is_handed_in_waits_for_the_writer_there_is(store):
    from varvite.session.writer import Writer

    with store._folder() as folder, Writer(folder, "s", SAYING) as writer:
        applied = toy(store, "s", apply=True).applied
        writer.append([{"stream": "nodes", "id": "more", "node_kind": "package"}])

    assert applied == {"waiting": len(expected(store)) - (not _had_package(store))}
    assert len(said(store)) == applied["waiting"]


def _had_package(store):
    return any(row["node_kind"] == "package" and row["nodes"] > 1 for row in expected(store))


def test_what_the_session_refuses_is_said(store):
    refusing = replace(TOY, proposals=lambda answers: [_unknown(answers)])

    assert toy(store, "s", job=refusing, apply=True).applied == {"refused": 1}
    with store._folder() as folder, folder.folder("s") as session:
        assert len(inbox.refused(session)) == 1


def _unknown(answers):
    from varvite.checkpoints.job import Proposal

    return Proposal("s", "no such act", {})


def test_a_dry_run_says_what_it_would_do_and_does_nothing(store):
    first = toy(store, "s", dry_run=True)

    assert first.state == "would run"
    assert not os.path.exists(f"{store.path}/s/checkpoints")
    toy(store, "s")
    assert toy(store, "s", dry_run=True).state == "would replay"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"least": -1}, "from 0 to 1000000"),
        ({"least": "many"}, "from 0 to"),
        ({"least": float("nan")}, "from 0 to"),
        ({"least": True}, "from 0 to"),
        ({"most": 1}, "its parameters: least"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused(store, given, said):
    with pytest.raises(InputError, match=said):
        toy(store, "s", parameters=given)


def test_parameters_as_text_are_read_as_numbers(store):
    assert toy(store, "s", parameters={"least": "7"}).receipt.parameters == {"least": 7}


def test_no_such_session_job_table_or_engine(store):
    ran = toy(store, "s")

    with pytest.raises(SessionNotFoundError):
        toy(store, "nobody")
    with pytest.raises(NotFoundError, match="its tables: kinds, halves, totals"):
        ran.answers.table("thirds")
    with pytest.raises(InputError, match="there are: duckdb"):
        toy(store, "s", engine="sc://127.0.0.1:1")
    with pytest.raises(NotFoundError, match="no checkpoint 'nothing'"):
        store.checkpoint("nothing")


def test_a_session_of_another_kind_is_refused(store):
    store.experiment("e", create=True).close()

    with pytest.raises(InputError, match="of kind graph"):
        toy(store, "e")


def test_every_run_is_a_row_of_the_view(store):
    ran = toy(store, "s")

    (row,) = store.sql("select * from checkpoints").dicts()

    assert (row["session_id"], row["name"], row["status"]) == ("s", "toy", "finished")
    assert (row["cursor"], row["path"]) == (ran.receipt.cursor, ran.path)
    assert (row["rows_read"], row["rows_written"]) == (
        ran.receipt.rows_read,
        ran.receipt.rows_written,
    )


def test_a_table_of_many_rows_keeps_the_order_and_its_types(store):
    ran = toy(store, "s")

    schema = pq.read_schema(f"{ran.path}/kinds.parquet")

    assert [str(field.type) for field in schema] in (
        ["string", "int64"],
        ["large_string", "int64"],
    )


def _writing(report):
    def write(run):
        run.write("report.md", report)

    return replace(TOY, stages=(*TOY.stages, Stage("write", write, texts=("report.md",))))


def test_a_text_that_a_stage_leaves_is_in_the_receipt_and_verified(store):
    ran = toy(store, "s", job=_writing("# ünder\n"))

    written = ran.receipt.texts["report"]
    assert ran.answers.text("report") == "# ünder\n"
    assert (written.file, written.bytes, written.rows) == ("report.md", 9, 0)
    with open(ran.answers.path("report"), "ab") as file:
        file.write(b"!")
    with pytest.raises(CorruptError, match=r"report\.md is damaged"):
        ran.answers.text("report")


def test_a_text_outlives_a_later_stage_that_was_stopped(store):
    def late(_run):
        raise StoppedError("late")

    job = _writing("# text\n")
    with pytest.raises(StoppedError):
        toy(store, "s", job=replace(job, stages=(*job.stages, Stage("late", late))))

    ran = toy(store, "s", job=replace(job, stages=(*job.stages, Stage("late", lambda _run: None))))

    assert ran.state == "resumed"
    assert ran.answers.text("report") == "# text\n"
