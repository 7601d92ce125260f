import json

import pytest


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
