import json

import pytest

from varvite.store import Store


def test_an_export_goes_to_stdout_or_to_a_file(experimented, tmp_path):
    out = experimented("experiment", "export", "e", "--as", "pi")
    report = experimented.json(
        "experiment", "export", "e", "--as", "pi", "--output", tmp_path / "l"
    )

    assert out.exit_code == 0
    assert (tmp_path / "l").read_text() == out.stdout
    assert [line.get("run") for line in map(json.loads, out.stdout.splitlines())] == [None, 1, 2, 3]
    assert (report["form"], report["bytes"]) == ("pi", len(out.stdout.encode()))
    assert report["output"] == str(tmp_path / "l")


@pytest.mark.parametrize("form", ["fusion", "csv"])
def test_every_text_form_goes_to_stdout(experimented, form):
    assert experimented("experiment", "export", "e", "--as", form).stdout.count("\n") >= 4


def test_parquet_goes_to_stdout_where_that_is_no_terminal(experimented):
    assert experimented("experiment", "export", "e", "--as", "parquet").stdout_bytes[:4] == b"PAR1"


def test_only_an_experiment_session_can_be_exported(searched):
    error = searched.refused(2, "experiment", "export", "s", "--as", "pi")

    assert error["code"] == "invalid_input"


def test_a_table_is_imported_once_and_then_only_what_is_new(varvite, tmp_path):
    file = tmp_path / "runs.txt"
    file.write_text("acc\tverdict\n0.5\tkeep\n0.7\tkept\n")
    arguments = ("experiment", "import", file, "--session", "e")
    columns = ("--columns", "metric=acc,status=verdict", "--statuses", "kept=keep")
    named = ("--metric", "accuracy", "--direction", "maximize")

    first = varvite.json(*arguments, "--create", *columns, *named)
    file.write_text(file.read_text() + "0.9\tkept\nbad\tkept\n")
    grown = varvite.json(*arguments, *columns, *named)

    assert (first["imported"], grown["imported"]) == (3, 1)
    assert grown["quarantined"] == [
        {
            "line": 5,
            "kind": "malformed",
            "action": "kept",
            "reason": "runs.txt:5:1: 'bad' is no number",
        }
    ]
    found = varvite.json("experiment", "status", "e")
    assert (found["best"]["metric"], found["definition"]["metric_name"]) == (0.9, "accuracy")


def test_a_table_without_its_columns_is_refused_with_its_place(varvite, tmp_path):
    file = tmp_path / "results.tsv"
    file.write_text("a\tb\n1\t2\n")

    error = varvite.refused(2, "experiment", "import", file, "--session", "e", "--create")

    assert (error["code"], error["line"]) == ("malformed_input", 1)
    assert varvite.json("sessions") == []
    assert {path.name for path in varvite.store.iterdir()} == {".gitattributes", ".gitignore"}


def test_a_refused_import_leaves_an_empty_session_that_was_there(varvite, tmp_path):
    file = tmp_path / "results.tsv"
    file.write_text("a\tb\n1\t2\n")
    with Store(varvite.store).experiment("e", create=True):
        pass

    varvite.refused(2, "experiment", "import", file, "--session", "e", "--create")

    assert [row["id"] for row in varvite.json("sessions")] == ["e"]


def test_a_table_with_commas_between_its_cells_is_refused_and_told_of_tabs(varvite, tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("metric,status\n1,keep\n")
    columns = ("--columns", "metric=metric,status=status")

    error = varvite.refused(2, "experiment", "import", file, "--session", "e", "--create", *columns)

    assert error["line"] == 1
    assert error["hint"].endswith("between cells there are tabs, and here is none")


@pytest.mark.parametrize(("form", "name"), [("pi", "log"), ("fusion", "f.db"), ("csv", "r.csv")])
def test_an_export_into_a_folder_that_is_not_there_says_what_to_do(
    experimented, tmp_path, form, name
):
    file = tmp_path / "none" / name

    error = experimented.refused(1, "experiment", "export", "e", "--as", form, "--output", file)

    assert (error["code"], error["errno"]) == ("storage", 2)
    assert error["message"] == f"writing {file}: there is no folder {tmp_path / 'none'}"
    assert error["hint"] == "make that folder, or name a file in one that is there"


def test_fusions_sessions_are_imported_under_their_own_ids(experimented, tmp_path):
    file = tmp_path / "fusion.sqlite"
    experimented.json("experiment", "export", "e", "--as", "fusion", "--output", file)
    other = type(experimented)(tmp_path / "other")

    (report,) = other.json("experiment", "import", file, "--create")
    (again,) = other.json("experiment", "import", file, "--session", "e", "--only", "e")

    assert (report["session_id"], report["fusion_id"], report["imported"]) == ("e", "e", 4)
    assert again["imported"] == 0
    assert other.json("experiment", "status", "e")["best"]["metric"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--session", "e", "--create", "--as", "pi", "--columns", "metric=a"],
        ["--session", "e", "--create", "--as", "table", "--columns", "metric"],
    ],
)
def test_options_that_do_not_fit_the_log_are_refused(varvite, tmp_path, arguments):
    (tmp_path / "log").write_text("{}\n")

    assert (
        varvite.refused(2, "experiment", "import", tmp_path / "log", *arguments)["code"] == "usage"
    )


@pytest.mark.parametrize("form", ["csv", "parquet", "fusion"])
def test_what_is_no_log_is_refused_before_a_session_is_made(experimented, tmp_path, form):
    file = tmp_path / "runs"
    experimented.json("experiment", "export", "e", "--as", form, "--output", file)

    error = experimented.refused(2, "experiment", "import", file, "--session", "new", "--create")

    assert (error["code"], error["file"]) == ("invalid_input", str(file))
    assert [row["id"] for row in experimented.json("sessions")] == ["e"]


def test_a_log_that_begins_with_a_broken_line_is_taken_where_its_form_is_said(varvite, tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text("broken\n")
    arguments = ("experiment", "import", file, "--session", "new", "--create")

    assert "--as pi" in varvite.refused(2, *arguments)["hint"]
    assert [one["line"] for one in varvite.json(*arguments, "--as", "pi")["quarantined"]] == [1]


@pytest.mark.parametrize("form", ["pi", "fusion", "csv", "parquet"])
def test_a_session_that_is_not_there_cannot_be_exported(experimented, form):
    error = experimented.refused(3, "experiment", "export", "none", "--as", form)

    assert error["code"] == "session_not_found"
