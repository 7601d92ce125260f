import json

import pytest

from varvite.store import Store

RUN = {"type": "run", "status": "keep", "metric": 1.5, "description": "x"}
LOG = [
    {
        "type": "config",
        "name": "n",
        "metricName": "ms",
        "metricUnit": "ms",
        "bestDirection": "lower",
    },
    {"run": 1, "commit": "a", "metric": 5, "status": "keep", "description": "d", "timestamp": 1},
    {"run": 2, "commit": "b", "metric": 4, "status": "keep", "description": "d", "timestamp": 2},
]


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


def test_a_session_is_made_with_what_it_measures(varvite):
    varvite.json("experiment", "init", "e", "--metric", "ops", "--direction", "maximize")

    found = varvite.json("experiment", "status", "e")

    assert found["definition"] == {
        "name": None,
        "metric_name": "ops",
        "metric_unit": "",
        "direction": "maximize",
    }


def test_a_session_is_made_only_once(experimented):
    error = experimented.refused(8, "experiment", "init", "e", "--metric", "ms")

    assert error["code"] == "session_exists"


def test_status_has_baseline_and_best(experimented):
    found = experimented.json("experiment", "status", "e")

    assert (found["runs"], found["kept"]) == (3, 2)
    assert (found["baseline"]["metric"], found["best"]["metric"]) == (3.5, 2)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RUN),
        json.dumps(RUN, indent=2),
        json.dumps([RUN]),
        json.dumps([RUN], indent=2),
        lines(RUN),
        "\n" + lines(RUN) + "\n",
    ],
)
def test_records_come_in_any_shape_of_json(varvite, text):
    varvite.json("experiment", "init", "e", "--metric", "ms")

    varvite.json("experiment", "append", "--session", "e", stdin=text)

    assert varvite.json("experiment", "status", "e")["runs"] == 1


def test_records_of_a_file_are_one_batch(varvite, tmp_path):
    varvite.json("experiment", "init", "e", "--metric", "ms")
    file = tmp_path / "runs.ndjson"
    file.write_text(lines(RUN, RUN))

    receipt = varvite.json("experiment", "append", "--session", "e", file)

    assert (receipt["first"], receipt["cursor"]) == (2, 3)


def test_a_key_that_was_used_adds_nothing(varvite):
    varvite.json("experiment", "init", "e", "--metric", "ms")
    arguments = ("experiment", "append", "--session", "e", "--key", "k")

    first = varvite.json(*arguments, stdin=lines(RUN))
    again = varvite.json(*arguments, stdin=lines(RUN))

    assert (first["replayed"], again["replayed"]) == (False, True)
    assert first["cursor"] == again["cursor"] == 2


@pytest.mark.parametrize(
    ("text", "line"), [(lines(RUN) + "{oops}\n", 2), (lines(RUN, 7), 2), ("[1]", 1), ("nan", 1)]
)
def test_input_that_is_no_record_is_refused_with_its_place(varvite, text, line):
    varvite.json("experiment", "init", "e", "--metric", "ms")

    error = varvite.refused(2, "experiment", "append", "--session", "e", stdin=text)

    assert error["code"] == "malformed_input"
    assert error["line"] in {line, None}
    assert varvite.json("experiment", "status", "e")["runs"] == 0


def test_a_record_that_is_refused_names_the_fault(varvite):
    varvite.json("experiment", "init", "e", "--metric", "ms")

    error = varvite.refused(
        2, "experiment", "append", "--session", "e", stdin=lines(RUN | {"status": "great"})
    )

    assert (error["code"], error["path"]) == ("invalid_record", "records[0].status")


def test_a_session_that_is_done_takes_no_records(experimented):
    with Store(experimented.store).experiment("e") as session:
        session.transition("archived")

    error = experimented.refused(8, "experiment", "append", "--session", "e", stdin=lines(RUN))

    assert (error["code"], error["status"]) == ("session_status", "archived")


def test_a_log_is_imported_once_and_then_only_what_is_new(varvite, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(lines(*LOG[:2]))
    arguments = ("experiment", "import", log, "--session", "e")

    first = varvite.json(*arguments, "--create")
    again = varvite.json(*arguments)
    log.write_text(lines(*LOG))
    grown = varvite.json(*arguments)

    assert [report["imported"] for report in (first, again, grown)] == [2, 0, 1]
    assert varvite.json("experiment", "status", "e")["best"]["metric"] == 4


def test_lines_that_cannot_be_read_are_kept_and_told(varvite, tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text(lines(LOG[0]) + "{broken\n" + lines(LOG[1]))

    result = varvite("experiment", "import", log, "--session", "e", "--create")

    assert [one["line"] for one in json.loads(result.stdout)["quarantined"]] == [2]
    assert result.stderr == "1 line could not be read: kept, byte for byte\n"
