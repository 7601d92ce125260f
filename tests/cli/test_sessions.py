import json

import pytest

from varvite.store import Store


def test_a_store_that_is_not_there_is_said_to_be_so(varvite):
    error = varvite.refused(3, "sessions")

    assert error["code"] == "not_found"
    assert error["message"] == f"there is no store at {varvite.store}"


def test_a_store_without_sessions_lists_none(varvite):
    varvite.store.mkdir()

    assert varvite.json("sessions") == []


def test_sessions_are_listed_with_what_a_glance_needs(searched, experimented):
    rows = searched.json("sessions")

    assert [list(row) for row in rows] == 2 * [
        ["id", "kind", "title", "cursor", "updated", "status", "counts"]
    ]
    assert [(row["id"], row["kind"], row["cursor"], row["status"]) for row in rows] == [
        ("e", "experiment", 4, "active"),
        ("s", "graph", 10, "active"),
    ]
    assert rows[0]["counts"] == {"records": 4}


def test_a_damaged_session_is_listed_with_its_error_beside_the_others(searched, experimented):
    (searched.store / "e" / "session.json").write_bytes(b"{}")

    rows = searched.json("sessions")

    assert [(row["id"], (row["error"] or {}).get("code")) for row in rows] == [
        ("e", "corrupt"),
        ("s", None),
    ]


def test_a_session_without_its_journal_is_listed_with_its_error_beside_the_others(
    searched, experimented
):
    (searched.store / "e" / "events.ndjson").unlink()

    rows = searched.json("sessions")

    assert [(row["id"], (row["error"] or {}).get("code")) for row in rows] == [
        ("e", "not_a_session"),
        ("s", None),
    ]
    assert rows[0]["error"]["hint"].startswith("put it back from a copy")


def test_folders_that_are_no_sessions_are_passed_over(searched):
    (searched.store / "notes").mkdir()
    (searched.store / "_trash").mkdir()

    assert [row["id"] for row in searched.json("sessions")] == ["s"]


@pytest.mark.parametrize(
    ("arguments", "is_"),
    [
        (("graph", "status", "e"), "experiment"),
        (("graph", "brief", "e"), "experiment"),
        (("graph", "pause", "e"), "experiment"),
        (("experiment", "status", "s"), "graph"),
        (("experiment", "brief", "s"), "graph"),
        (("experiment", "export", "s", "--as", "csv"), "graph"),
    ],
)
def test_a_session_of_the_other_kind_is_refused_with_the_verb_that_is_its_own(
    searched, experimented, arguments, is_
):
    error = searched.refused(2, *arguments)

    assert error["code"] == "invalid_input"
    assert f"is a session of kind {is_}, not " in error["message"]
    assert error["hint"] == f"`varvite {is_} --help` lists what can be done with it"


def test_titles_cannot_move_the_cursor_of_a_terminal(varvite):
    varvite.json("graph", "open", "s", "--create", "--title", "a\x1b[31mred\x07\u202eb")

    shown = varvite("sessions", shape="table").stdout

    assert "aredb" in shown
    assert "\x1b" not in shown


def test_the_store_is_found_in_the_enclosing_gaia_package(varvite, tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "deep").mkdir(parents=True)
    (package / "pyproject.toml").write_text("[tool.gaia]\n")
    varvite.store = package / ".gaia" / "research" / "sessions"
    varvite.json("graph", "open", "s", "--create")
    monkeypatch.chdir(package / "deep")

    from click.testing import CliRunner

    from varvite.cli.main import cli

    result = CliRunner().invoke(cli, ["sessions"])

    assert [row["id"] for row in json.loads(result.stdout)] == ["s"]


@pytest.mark.parametrize(
    "verb",
    [
        ("sessions",),
        ("verify",),
        ("repair",),
        ("compact",),
        ("gc",),
        ("sql", "select 1"),
        ("checkpoint", "narrative"),
    ],
)
def test_a_folder_of_other_things_or_none_at_all_is_no_store(varvite, verb):
    absent = varvite.refused(3, *verb)
    (varvite.store / "notes").mkdir(parents=True)
    (varvite.store / "readme.txt").write_text("mine")

    other = varvite.refused(3, *verb)

    assert absent["message"] == f"there is no store at {varvite.store}"
    assert other["code"] == "not_found"
    assert other["message"].startswith(f"{varvite.store} is no store")
    assert "--store" in other["hint"]
    assert sorted(one.name for one in varvite.store.iterdir()) == ["notes", "readme.txt"]


def test_an_empty_folder_and_one_whose_last_session_was_deleted_are_stores(searched, tmp_path):
    searched.json("delete", "s")
    (tmp_path / "empty").mkdir()

    assert searched.json("sessions") == []
    assert Store(tmp_path / "empty").sessions() == []
