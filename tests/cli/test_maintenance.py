import json

import pytest

from varvite.store import Store

NODES = "select id, content from nodes order by id"


def test_compaction_changes_no_answer(searched, experimented):
    before = searched.json("sql", "from records order by session_id, seq")

    done = searched.json("compact")
    again = searched.json("compact")

    assert (done["rows"], done["generation_after"]) == (14, 1)
    assert (again["rows"], again["generation_after"]) == (0, 1)
    assert searched.json("sql", "from records order by session_id, seq") == before


def test_a_dry_compaction_says_what_it_would_do(searched):
    found = searched.json("compact", "--dry-run")

    assert (found["rows"], found["dry_run"]) == (10, True)
    assert not (searched.store / "_lake").exists()


def test_what_is_deleted_can_be_rebuilt(searched):
    (searched.store / "s" / "state.json").unlink()
    (searched.store / "s" / "nodes.jsonl").unlink()
    before = searched.json("sql", NODES)

    done = searched.json("rebuild", "s")

    assert [(row["session"], row["cursor"], row["records"]) for row in done] == [("s", 10, 10)]
    assert (searched.store / "s" / "nodes.jsonl").read_text().count("\n") == 3
    assert searched.json("sql", NODES) == before
    assert searched.json("graph", "status", "s")["counts"]["nodes"] == 3


def test_all_sessions_are_rebuilt_when_it_is_said(searched, experimented):
    assert [row["session"] for row in searched.json("rebuild", "--all")] == ["e", "s"]


@pytest.mark.parametrize("given", [[], ["s", "--all"]])
def test_nothing_is_rebuilt_by_mistake(searched, given):
    assert searched.refused(2, "rebuild", *given)["code"] == "usage"


def test_a_session_that_is_being_written_is_not_rebuilt(searched):
    with Store(searched.store).graph("s"):
        assert searched.refused(4, "rebuild", "s")["code"] == "session_locked"


def test_a_deleted_session_is_in_no_view(searched, experimented):
    searched.json("compact")

    foreseen = searched.json("delete", "s", "--dry-run")
    before = searched.json("sql", "select distinct session_id from records order by all")
    done = searched.json("delete", "s")
    after = searched.json("sql", "select distinct session_id from records")

    assert (foreseen["dry_run"], done["dry_run"]) == (True, False)
    assert [row["session_id"] for row in before] == ["e", "s"]
    assert [row["session_id"] for row in after] == ["e"]
    assert [row["id"] for row in searched.json("sessions")] == ["e"]


def test_a_session_that_is_not_there_cannot_be_deleted(searched):
    assert searched.refused(3, "delete", "nobody")["code"] == "session_not_found"


def test_the_bytes_of_a_deleted_session_go_when_the_grace_period_is_over(searched):
    searched.json("compact")
    searched.json("delete", "s", "--yes")

    kept = searched.json("gc")
    foreseen = searched.json("gc", "--grace-hours", "0", "--dry-run")
    done = searched.json("gc", "--grace-hours", "0")

    assert [found["sessions"] for found in (kept, foreseen, done)] == [0, 1, 1]
    assert list((searched.store / "_trash").iterdir()) == []


def test_a_whole_store_has_nothing_to_verify_or_repair(searched, experimented):
    searched.json("compact")

    assert searched.json("verify") == []
    assert searched.json("verify", "--deep") == []
    assert searched.json("verify", "s") == []
    assert searched.json("repair") == []


def test_damage_is_told_a_line_a_file_and_exits_with_six(searched):
    searched.json("compact")
    segment = next((searched.store / "_lake").glob("nodes/*.parquet"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)

    result = searched("verify", shape="ndjson")

    assert result.exit_code == 6
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == [str(segment)]
    assert result.stderr == ""
    assert searched.refused(6, "sql", NODES)["code"] == "corrupt"


def test_repair_says_first_what_it_would_do(searched):
    before = searched.json("sql", NODES)
    searched.json("compact")
    segment = next((searched.store / "_lake").glob("nodes/*.parquet"))
    segment.write_bytes(segment.read_bytes()[:-1])

    foreseen = searched.json("repair", "--dry-run")
    still = searched("verify").exit_code
    done = searched.json("repair")

    assert [row["file"] for row in foreseen] == [row["file"] for row in done] == [str(segment)]
    assert (still, searched("verify").exit_code) == (6, 0)
    assert searched.json("sql", NODES) == before


def test_a_session_that_is_not_there_cannot_be_verified(searched):
    assert searched.refused(3, "verify", "nobody")["code"] == "session_not_found"


def test_a_session_that_lost_its_journal_is_nowhere_passed_over_in_silence(searched, experimented):
    lost = searched.store / "e" / "events.ndjson"
    lost.unlink()

    for verb in (
        ("sql", "select session_id from sessions"),
        ("checkpoint", "experiments", "--dry-run"),
    ):
        error = searched.refused(3, *verb)
        assert (error["code"], error["file"]) == ("not_a_session", str(lost))
        assert error["hint"].startswith("put it back from a copy")
    assert searched.json("sql", NODES, "--session", "s") != []


def test_compaction_tells_of_a_lost_journal_once_the_other_sessions_are_compacted(
    searched, experimented
):
    (searched.store / "e" / "events.ndjson").unlink()

    error = searched.refused(3, "compact")

    assert error["code"] == "not_a_session"
    assert error["hint"].endswith("all other sessions are compacted")
    assert error["receipt"]["rows"] == 10
    compacted = searched.json("sql", "select count(*) as n from segments", "--session", "s")
    assert compacted[0]["n"] > 0


def test_repair_exits_with_six_where_something_stays_damaged(searched, experimented):
    (searched.store / "e" / "events.ndjson").unlink()

    for options in (["--dry-run"], []):
        result = searched("repair", *options)
        (row,) = json.loads(result.stdout)
        assert (result.exit_code, row["mended"]) == (6, False)
        assert row["done"].startswith("not mended: ")
    assert searched("verify").exit_code == 6
