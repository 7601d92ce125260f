import json

import pytest

from varvite.store import Store


def test_a_session_is_not_made_unless_asked_for(varvite):
    varvite.store.mkdir()

    assert varvite.refused(3, "graph", "open", "s")["code"] == "session_not_found"
    assert list(varvite.store.iterdir()) == []


def test_a_session_is_made_once_and_opened_again(varvite):
    made = varvite.json("graph", "open", "s", "--create", "--title", "Spin liquids")
    again = varvite.json("graph", "open", "s", "--create", "--title", "Another")

    assert (made["session_id"], made["cursor"]) == ("s", 0)
    assert again == made
    assert varvite.json("graph", "status", "s")["title"] == "Spin liquids"


def test_a_name_that_is_no_session_id_is_refused(varvite):
    assert varvite.refused(2, "graph", "open", "../up", "--create")["code"] == "invalid_id"


def test_a_response_becomes_nodes_once(varvite, response):
    first = varvite.json("graph", "submit", "--session", "s", "--create", response)
    again = varvite.json("graph", "submit", "--session", "s", response)

    counts = ("new", "seen", "failed", "repeated", "batches", "cursor")
    assert [first[name] for name in counts] == [2, 0, 0, 0, 1, first["cursor"]]
    assert [again[name] for name in counts] == [0, 0, 0, 1, 0, first["cursor"]]
    assert first["io"]["syncs"] == 1
    assert again["io"] == {}


def test_several_files_and_lines_are_taken_in_one_go(varvite, response, tmp_path):
    failed = {"code": 7, "error": {"msg": "timeout"}, "trace_id": "t2"}
    lines = tmp_path / "log.ndjson"
    lines.write_text(
        "".join(json.dumps({"file": f"f{n}", "payload": failed}) + "\n" for n in (1, 2))
    )

    found = varvite.json("graph", "submit", "--session", "s", "--create", response, lines)

    assert (found["new"], found["failed"]) == (2, 2)


def test_a_response_is_taken_from_stdin(varvite, response):
    found = varvite.json(
        "graph", "submit", "--session", "s", "--create", "-", stdin=response.read_text()
    )

    assert found["new"] == 2


def test_a_fault_in_what_comes_on_stdin_is_told_by_that_name(varvite):
    error = varvite.refused(2, "graph", "submit", "--session", "s", "--create", "-", stdin='{"a":')

    assert (error["file"], error["line"], error["offset"]) == ("stdin", 1, 5)
    assert error["message"].startswith("stdin:1, byte 5: ")


def test_what_lies_before_a_malformed_line_is_kept_and_told(varvite, response, tmp_path):
    broken = tmp_path / "broken.ndjson"
    broken.write_text(response.read_text() + "\n{}\n")

    error = varvite.refused(2, "graph", "submit", "--session", "s", "--create", response, broken)

    assert error["code"] == "malformed_input"
    assert (error["line"], error["file"]) == (2, str(broken))
    assert error["submitted"]["new"] == 2
    assert varvite.json("graph", "status", "s")["cursor"] == error["submitted"]["cursor"]


def test_a_refused_submit_leaves_no_session_that_it_made(varvite, tmp_path):
    broken = tmp_path / "broken.ndjson"
    broken.write_text("{}\n")

    varvite.refused(2, "graph", "submit", "--session", "s", "--create", broken)

    assert varvite.json("sessions") == []


def test_a_file_that_is_not_there_is_a_usage_error(varvite):
    error = varvite.refused(2, "graph", "submit", "--session", "s", "nowhere.json")

    assert error["code"] == "usage"


def test_status_needs_no_lock(searched):
    with Store(searched.store).graph("s") as held:
        found = searched.json("graph", "status", "s")

        assert (found["cursor"], found["summary"]["new"]) == (held.cursor, 2)


def test_status_is_of_one_kind_of_session(searched, experimented):
    assert searched.refused(2, "graph", "status", "e")["code"] == "invalid_input"
    assert searched.refused(2, "experiment", "status", "s")["code"] == "invalid_input"


@pytest.mark.parametrize("wait", [[], ["--wait", "0.05"]])
def test_a_second_writer_is_told_who_the_first_is(searched, response, wait):
    with Store(searched.store).graph("s"):
        error = searched.refused(4, "graph", "submit", "--session", "s", *wait, response)

    assert (error["code"], error["retryable"]) == ("session_locked", True)
    assert set(error) >= {"pid", "host", "since"}


def test_what_recovery_cut_is_told_beside_the_answer(searched):
    with (searched.store / "s" / "events.ndjson").open("ab") as journal:
        journal.write(b'{"seq":')
    (searched.store / "s" / "CLEAN").unlink()

    result = searched("graph", "open", "s")

    assert json.loads(result.stdout)["session_id"] == "s"
    assert result.stderr.startswith("recovered: 7 bytes ")


def test_quiet_tells_nothing_beside_the_answer(searched):
    with (searched.store / "s" / "events.ndjson").open("ab") as journal:
        journal.write(b'{"seq":')
    (searched.store / "s" / "CLEAN").unlink()

    assert searched("graph", "open", "s", "--quiet").stderr == ""
