import json

import pytest

from varvite.adapters.table_log import TableLog
from varvite.errors import InputError, MalformedInputError
from varvite.records.contracts import validate

KARPATHY = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
ROWS = "a1\t0.99\t44.0\tkeep\tbaseline\nb2\t0.98\t44.2\tkeep\tLR 0.04\nc3\t1.0\t44.0\tdiscard\tGeLU\nd4\t0.000000\t0.0\tcrash\tOOM\n"


@pytest.fixture
def table(tmp_path):
    """Writes a table and reads it: one batch of all."""

    def read(text, columns=None, *, after=None, **options):
        path = tmp_path / "results.tsv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        first, *rest = TableLog(path, columns, **options).read(after)
        for batch in rest:
            first.records += batch.records
            first.quarantined += batch.quarantined
            first.defaulted += batch.defaulted
            first.cursor, first.unfinished = batch.cursor, batch.unfinished
        for record in first.records:
            own = {name: value for name, value in record.items() if name != "stream"}
            validate(record["stream"], [own | ({"segment": 1} if "type" in own else {})])
        return first

    return read


def runs(batch):
    return [
        (record["metric"], record["status"], record["commit"], record["description"])
        for record in batch.records
        if record.get("type") == "run"
    ]


def test_karpathys_table_is_read_without_a_mapping(table):
    batch = table(KARPATHY + ROWS)

    config, first, *_ = batch.records
    assert (config["type"], config["metric_name"], config["direction"]) == (
        "config",
        "val_bpb",
        "minimize",
    )
    assert runs(batch) == [
        (0.99, "keep", "a1", "baseline"),
        (0.98, "keep", "b2", "LR 0.04"),
        (1.0, "discard", "c3", "GeLU"),
        (0.0, "crash", "d4", "OOM"),
    ]
    assert (first["metrics"], first["source_line"], first["raw"]) == (
        {"memory_gb": 44.0},
        2,
        "a1\t0.99\t44.0\tkeep\tbaseline",
    )
    assert (batch.quarantined, batch.defaulted) == ([], [])


def test_columns_are_mapped_by_name_and_the_others_are_kept(table):
    batch = table(
        "step\tacc\tnote\tverdict\tt\n7\t.5\tn\tKEEP\t1778130944\n8\t5e-1\t\trejected\t2026-01-01T00:00:00\n",
        {"metric": "acc", "status": "verdict", "run": "step", "timestamp": "t"},
        metric_name="accuracy",
        metric_unit="%",
        direction="maximize",
        statuses={"Rejected": "discard"},
    )

    config, first, second = batch.records
    assert (config["metric_name"], config["metric_unit"], config["direction"]) == (
        "accuracy",
        "%",
        "maximize",
    )
    assert runs(batch) == [(0.5, "keep", None, None), (0.5, "discard", None, None)]
    assert (first["run_logged"], first["payload"], second["status_raw"]) == (
        7,
        {"note": "n"},
        "rejected",
    )
    assert [record["logged_at"] for record in (first, second)] == [
        "2026-05-07T05:15:44.000000Z",
        "2026-01-01T00:00:00.000000Z",
    ]
    assert ("timestamp", "read as seconds") in [one[1:] for one in batch.defaulted]


@pytest.mark.parametrize("header", ["", KARPATHY])
def test_a_table_whose_columns_are_numbered_has_a_header_or_not(table, header):
    batch = table(header + ROWS, {"metric": 2, "status": "4"})

    assert [run[:2] for run in runs(batch)] == [
        (0.99, "keep"),
        (0.98, "keep"),
        (1.0, "discard"),
        (0.0, "crash"),
    ]
    name = "memory_gb" if header else "3"
    assert batch.records[1]["payload"][name] == "44.0"
    assert batch.records[0]["metric_name"] == ("val_bpb" if header else "metric")


@pytest.mark.parametrize(
    ("row", "kind", "reason"),
    [
        ("x\tabc\t1\tkeep\td", "malformed", "results.tsv:3:2: 'abc' is no number"),
        ("x\t1_000\t1\tkeep\td", "malformed", "results.tsv:3:2: '1_000' is no number"),
        ("x\t0x1F\t1\tkeep\td", "malformed", "results.tsv:3:2: '0x1F' is no number"),
        ("alone", "unknown_shape", "results.tsv:3:2: no cell for metric"),
        (b"x\t\xff\t1\tkeep\td", "not_utf8", "'utf-8' codec can't decode byte 0xff in position 2"),
    ],
)
def test_a_bad_cell_sets_its_line_aside_with_file_line_and_column(table, row, kind, reason):
    raw = row if isinstance(row, bytes) else row.encode()

    batch = table(KARPATHY.encode() + b"a\t1\t1\tkeep\td\n" + raw + b"\nb\t2\t1\tkeep\td\n")

    assert batch.quarantined == [(3, kind, "kept")]
    (aside,) = [record for record in batch.records if record["stream"] == "quarantine"]
    assert aside["reason"].startswith(reason)
    assert [run[0] for run in runs(batch)] == [1, 2]


@pytest.mark.parametrize(
    ("cell", "state"),
    [("", "missing"), ("-", "missing"), ("N/A", "missing"), ("nan", "nan"), ("-inf", "infinite")],
)
def test_a_metric_that_is_none_is_null_and_says_why(table, cell, state):
    batch = table(f"{KARPATHY}a\t{cell}\t\tcrash\td\n")

    run = batch.records[1]
    assert (run["metric"], run["metric_state"], run["metrics"]) == (None, state, None)
    assert (2, "metric", f"null, as it is {state}") in batch.defaulted


def test_ragged_rows_lose_nothing(table):
    batch = table(KARPATHY + "a\t1\nb\t2\t3\tkeep\td\tsixth\tseventh\n")

    assert runs(batch) == [(1, "unknown", "a", None), (2, "keep", "b", "d")]
    assert batch.records[2]["payload"] == {"6": "sixth", "7": "seventh"}
    assert (2, "status", "unknown") in batch.defaulted


def test_a_word_that_is_no_status_is_unknown_and_kept(table):
    batch = table(KARPATHY + "a\t1\t1\ttentative\td\n")

    assert (batch.records[1]["status"], batch.records[1]["status_raw"]) == ("unknown", "tentative")


def test_secondary_cells_that_are_no_number_are_told(table):
    batch = table(KARPATHY + "a\t1\tmuch\tkeep\td\n")

    assert batch.records[1]["metrics"] is None
    assert batch.defaulted == [
        (2, "metrics.memory_gb", "null, as results.tsv:2:3: 'much' is no number")
    ]


@pytest.mark.parametrize(
    "text",
    [
        KARPATHY + ROWS,
        (KARPATHY + ROWS).replace("\n", "\r\n"),
        "\ufeff" + KARPATHY + ROWS,
        "\n\n" + KARPATHY + "\n" + ROWS,
    ],
)
def test_line_ends_marks_and_blank_lines_change_no_run(table, text):
    assert runs(table(text)) == runs(table(KARPATHY + ROWS))


def test_reading_goes_on_from_the_cursor_of_every_line(table):
    text = KARPATHY + "bad\n" + ROWS
    whole = table(text)

    for cut in range(len(text.splitlines()) + 1):
        first = table("".join(text.splitlines(keepends=True)[:cut]))
        rest = table(text, after=first.cursor)

        assert first.records + rest.records == whole.records
        assert rest.cursor == whole.cursor


def test_a_changed_line_before_the_cursor_starts_a_new_generation(table):
    first = table(KARPATHY + ROWS)

    again = table(KARPATHY + ROWS.replace("0.98", "0.97"), after=first.cursor)

    assert {record["generation"] for record in again.records} == {2}
    assert len(again.records) == 5


def test_a_last_line_without_newline_waits_unless_the_table_is_closed(table):
    text = (KARPATHY + ROWS).removesuffix("\n")

    assert (len(runs(table(text))), table(text).unfinished) == (
        3,
        len("d4\t0.000000\t0.0\tcrash\tOOM"),
    )
    assert len(runs(table(text, closed=True))) == 4
    assert table("commit\tval").records == []


def test_columns_that_are_not_there_are_refused_with_file_and_line(table):
    with pytest.raises(MalformedInputError) as caught:
        table("\n" + ROWS)

    assert (caught.value.file, caught.value.line) == ("results.tsv", 2)
    assert "no column val_bpb" in caught.value.message


@pytest.mark.parametrize(
    ("columns", "statuses"),
    [({"speed": "a"}, {}), ({"metrics.": "a"}, {}), ({"status": "a"}, {}), (None, {"a": "great"})],
)
def test_a_mapping_to_what_is_no_field_is_refused(table, columns, statuses):
    with pytest.raises(InputError):
        table(KARPATHY + ROWS, columns, statuses=statuses)


HAND_MADE = [
    {"iter": 0, "change": "start", "bleu": 2.5, "keep": True, "url": {"a": [1]}},
    {"iter": 1, "change": "less", "value": 2, "metric": "chrf", "keep": False},
    {"iter": 2, "change": "odd", "keep": True},
    {"iter": 3, "change": "text", "bleu": "high", "keep": True},
    {"iter": 4, "change": None, "bleu": None, "keep": None},
]
MAPPING = {
    "metric": "bleu|value",
    "status": "keep",
    "run": "iter",
    "description": "change",
    "metrics.iter": "iter",
}


def test_a_hand_made_log_of_objects_is_read_by_its_keys(table):
    lines = "".join(json.dumps(entry) + "\n" for entry in HAND_MADE)

    batch = table(lines + "{torn\n[1]\n", MAPPING, direction="maximize")

    config, first, second, *_, last = [one for one in batch.records if one["stream"] == "records"]
    assert (config["metric_name"], config["direction"], config["source_line"]) == (
        "bleu",
        "maximize",
        None,
    )
    assert runs(batch) == [
        (2.5, "keep", None, "start"),
        (2.0, "discard", None, "less"),
        (None, "unknown", None, ""),
    ]
    assert (first["run_logged"], first["metrics"], first["payload"]) == (
        0,
        {"iter": 0.0},
        {"url": {"a": [1]}},
    )
    assert second["payload"] == {"metric": "chrf"}
    assert last["metric_state"] == "missing"
    assert batch.quarantined == [
        (3, "unknown_shape", "kept"),
        (4, "malformed", "kept"),
        (6, "malformed", "kept"),
        (7, "not_an_object", "kept"),
    ]
    reasons = [one["reason"] for one in batch.records if one["stream"] == "quarantine"]
    assert reasons[:2] == [
        "results.tsv:3:$.bleu|value: no cell for metric",
        "results.tsv:4:$.bleu|value: 'high' is no number",
    ]


def test_the_hand_made_logs_that_we_have_are_read_whole_by_a_mapping(shared):
    folder = shared / "data" / "experiments" / "autoresearch"
    mappings = {
        "01-adhoc-a.jsonl": {"metric": "bleu|value", "status": "keep", "description": "change"},
        "02-adhoc-b.jsonl": {"metric": "value", "status": "status", "run": "iter"},
    }

    for name, mapping in mappings.items():
        batches = list(TableLog(folder / name, mapping, closed=True).read(None))

        found = [run for batch in batches for run in runs(batch)]
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines() if line]
        assert [run[0] for run in found] == [line.get("bleu", line.get("value")) for line in lines]
        assert [batch.quarantined for batch in batches] == [[]] * len(batches)
        assert {run[1] for run in found} <= {"keep", "discard"}
