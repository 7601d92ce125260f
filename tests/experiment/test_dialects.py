"""What we make of the logs of pi's relatives, and what pi itself makes of them."""

import json

import pytest

from varvite.adapters import pi_log
from varvite.adapters.lines import LineSplitter
from varvite.adapters.pi_line import as_pi
from varvite.adapters.pi_log import PiLog

EVENTS = [
    {"id": "a", "timestamp": 1777278226, "kind": "init", "config": {"name": "n", "metric": "us", "unit": "µs", "direction": "higher", "max_iterations": 5}},
    {"id": "b", "timestamp": 1777278229, "kind": "run", "idea": "inline", "commit_before": "c0"},
    {"id": "c", "timestamp": 1777278284, "kind": "run", "idea": "left alone", "commit_before": "c0"},
    {"id": "d", "timestamp": 1777278289, "kind": "result", "run_id": "b", "metric_value": 9.5, "duration_ms": 3, "kept": True, "commit_after": "c1", "checks_passed": True},
    {"id": "e", "timestamp": 1777278290, "kind": "result", "run_id": "x", "metric_value": None, "kept": False, "commit_after": "c1", "checks_passed": False},
    {"id": "f", "timestamp": 1777278291, "kind": "result", "run_id": "c", "metric_value": 9, "kept": False, "commit_after": "c1", "checks_passed": True},
]  # fmt: skip
SEGMENTS = [
    {"type": "config", "segmentId": "s1", "name": "n", "metricName": "ms", "metricUnit": "ms", "bestDirection": "lower"},
    {"type": "run", "segmentId": "s1", "runId": "r1", "metric": 5, "status": "keep", "description": "first", "commit": "c1", "metrics": {}},
    {"type": "run", "segmentId": "s1", "run": "r2", "metric": 4, "status": "discard", "description": "second", "commit": "c2", "metrics": {}},
    {"type": "config", "segmentId": "s2", "name": "n", "metricName": "ops", "metricUnit": "", "bestDirection": "higher"},
    {"type": "run", "segmentId": "s2", "metric": 7, "status": "keep", "description": "third", "commit": "c3", "metrics": {}},
]  # fmt: skip


def data(entries):
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()


def read(entries):
    (batch,) = pi_log.read([data(entries)], LineSplitter("log.jsonl"))
    return batch


def test_an_event_log_is_a_config_and_runs_with_what_they_tried():
    batch = read(EVENTS)

    config, tried, alone, *runs = batch.records
    assert (config["type"], config["name"], config["metric_name"], config["metric_unit"]) == (
        "config",
        "n",
        "us",
        "µs",
    )
    assert (config["direction"], config["payload"]["max_iterations"]) == ("maximize", 5)
    assert (tried["type"], tried["payload"]) == ("hook", EVENTS[1])
    assert (alone["type"], alone["payload"]["idea"]) == ("hook", "left alone")
    names = ("status", "metric", "metric_state", "commit", "description")
    assert [tuple(run[name] for name in names) for run in runs] == [
        ("keep", 9.5, "finite", "c1", "inline"),
        ("checks_failed", None, "missing", "c1", None),
        ("discard", 9.0, "finite", "c1", "left alone"),
    ]
    assert runs[0]["payload"] == {
        "id": "d",
        "kind": "result",
        "run_id": "b",
        "duration_ms": 3,
        "kept": True,
        "checks_passed": True,
        "commit_before": "c0",
    }
    assert runs[0]["logged_at"] == "2026-04-27T08:24:49.000000Z"
    assert (5, "metric_value", "null, as it is missing") in batch.defaulted
    assert batch.quarantined == []


def test_what_a_run_tried_is_found_in_lines_that_were_imported_before(tmp_path):
    path = tmp_path / "log.jsonl"
    (whole,) = read_all(path, data(EVENTS))

    for cut in range(len(EVENTS) + 1):
        (first,) = read_all(path, data(EVENTS[:cut]))
        (rest,) = read_all(path, data(EVENTS), first.cursor)

        assert first.records + rest.records == whole.records


def read_all(path, content, after=None):
    path.write_bytes(content)
    return list(PiLog(path).read(after))


def test_runs_joined_to_their_config_by_a_segment_id_are_runs_of_its_segment(dict_ledger):
    ledger = dict_ledger()
    batch = read(SEGMENTS)

    for record in batch.records:
        ledger.add(record)

    first, second = ledger.segment(1), ledger.segment(2)
    assert (first.runs, first.best.metric, first.statuses) == (2, 5, {"keep": 1, "discard": 1})
    assert (second.runs, second.best.metric, second.definition.direction) == (1, 7, "maximize")
    assert [record["payload"]["segmentId"] for record in batch.records] == ["s1"] * 3 + ["s2"] * 2
    assert [record["run_logged"] for record in batch.records if record["type"] == "run"] == [
        None
    ] * 3
    assert batch.quarantined == []


@pytest.mark.parametrize(("entries", "seen"), [(EVENTS, 0), (SEGMENTS, 2)])
def test_pi_passes_over_what_has_no_number_of_a_run(entries, seen):
    records = [as_pi(record) for record in read(entries).records]

    assert [record["type"] for record in records if record["stream"] == "records"] == [
        "config"
    ] * seen


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "init", "timestamp": 1},
        {"kind": "result", "metric_value": 3},
        {"kind": "other", "id": "a"},
        {"type": "run", "segmentId": "s"},
        {"iter": 1, "keep": True, "bleu": 2.5},
        {"event": "keep", "value": 3},
    ],
)
def test_hand_made_lines_are_not_guessed_at_and_are_kept_whole(entry):
    batch = read([entry])

    assert batch.quarantined == [(1, "unknown_shape", "kept")]
    assert json.loads(batch.records[0]["raw"]) == entry


@pytest.fixture(scope="module")
def logs(shared):
    return shared / "data" / "experiments"


DIALECTS = {
    # runs and quarantined lines of all our samples of a dialect, as their lines say
    "plain": lambda entry: "run" in entry,
    "extras": lambda entry: "run" in entry,
    "forked": lambda entry: entry.get("type") == "run",
    "event-log": lambda entry: entry.get("kind") == "result",
    "ad-hoc": lambda entry: False,
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_run_of_a_dialects_logs_is_read_and_no_line_is_lost(logs, dialect):
    files = json.loads((logs / "expected.json").read_text())["files"]
    names = [name for name, entry in files.items() if entry["dialect"] == dialect]

    for name in names:
        content = (logs / "autoresearch" / name).read_bytes()
        batches = list(PiLog(logs / "autoresearch" / name, closed=True).read(None))
        records = [record for batch in batches for record in batch.records]
        aside = [one for batch in batches for one in batch.quarantined]
        entries = [json.loads(line) for line in content.split(b"\n") if line.strip()]
        runs = [record for record in records if record.get("type") == "run"]
        wanted = [number for number, entry in enumerate(entries, 1) if DIALECTS[dialect](entry)]

        assert [record["source_line"] for record in runs] == wanted
        assert len(records) == len(entries)
        assert [one.kind for one in aside] == (
            ["unknown_shape"] * len(entries) if dialect == "ad-hoc" else []
        )
        if dialect == "forked":
            directions = {"higher": "maximize", "lower": "minimize"}
            assert [record["direction"] for record in records if record["type"] == "config"] == [
                directions[entry["direction"]] for entry in entries if entry["type"] == "config"
            ]
    assert names
