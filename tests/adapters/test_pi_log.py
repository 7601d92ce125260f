import base64
import json
import os

import pytest

from varvite.adapters import pi_log
from varvite.adapters.lines import LINE_BYTES_MAX, LineSplitter
from varvite.adapters.pi_line import as_pi
from varvite.adapters.pi_log import PiLog
from varvite.errors import InputError, LimitError, StorageError
from varvite.records.contracts import validate
from varvite.records.limits import RECORD_BYTES_MAX

RUN = b'{"run":1,"commit":"c","metric":2.5,"metrics":{},"status":"keep","description":"d","timestamp":1778130944734,"segment":0,"confidence":null}'
CONFIG = (
    b'{"type":"config","name":"S","metricName":"ms","metricUnit":"ms","bestDirection":"higher"}'
)


def read(data, **options):
    """All batches of a log as one."""
    first, *rest = pi_log.read([data], LineSplitter("log.jsonl"), **options)
    for batch in rest:
        first.records += batch.records
        first.quarantined += batch.quarantined
        first.defaulted += batch.defaulted
        first.cursor = batch.cursor
    return first


def only(data):
    (record,) = read(data + b"\n").records
    placed = record | ({"segment": 1} if record["stream"] == "records" else {})
    validate(record["stream"], [{k: v for k, v in placed.items() if k != "stream"}])
    return record


def restored(records):
    """The bytes of the lines that the records keep."""
    if records[0]["stream"] == "records" or records[0]["encoding"] == "utf-8":
        return records[0]["raw"].encode()
    return b"".join(base64.b64decode(record["raw"]) for record in records)


def test_a_run_line_is_a_record_with_its_line_kept():
    record = only(RUN.replace(b'"segment":0', b'"segment":0,"asi":{"hypothesis":"h"}'))

    assert record == {
        "stream": "records",
        "type": "run",
        "run_logged": 1.0,
        "status": "keep",
        "status_raw": "keep",
        "metric": 2.5,
        "metric_state": "finite",
        "metrics": {},
        "commit": "c",
        "description": "d",
        "confidence": None,
        "logged_at": "2026-05-07T05:15:44.734000Z",
        "payload": {"segment": 0, "asi": {"hypothesis": "h"}},
        "raw": record["raw"],
        "source": "log.jsonl",
        "source_line": 1,
        "generation": 1,
    }


def test_a_config_line_and_a_hook_line_are_records():
    config = only(CONFIG[:-1] + b',"segmentReason":"r"}')
    hook = only(b'{"type":"hook","stage":"before","exit_code":null}')

    assert (config["type"], config["name"], config["direction"]) == ("config", "S", "maximize")
    assert (config["metric_name"], config["payload"]) == ("ms", {"segmentReason": "r"})
    assert (hook["type"], hook["payload"]) == ("hook", {"stage": "before", "exit_code": None})


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"{bad", "malformed"),
        (b'{"run":1,"met', "malformed"),
        (b"\xef\xbb\xbf" + CONFIG, "malformed"),
        (b'{"run":1,"metric":NaN}', "malformed"),
        (b'{"run":1,"metric":-Infinity}', "malformed"),
        (b"{}{}", "malformed"),
        (b"\x00\x00", "malformed"),
        (b"[" * 100_000, "malformed"),
        (b'{"run":1,"description":"\xff"}', "not_utf8"),
        (b"\xed\xa0\x80", "not_utf8"),
        (b"[1]", "not_an_object"),
        (b'"x"', "not_an_object"),
        (b"5", "not_an_object"),
        (b"null", "not_an_object"),
        (b"true", "not_an_object"),
        (b"{}", "unknown_shape"),
        (b'{"run":"1"}', "unknown_shape"),
        (b'{"run":true,"metric":1}', "unknown_shape"),
        (b'{"run":null}', "unknown_shape"),
        (b'{"kind":"note","config":{}}', "unknown_shape"),
        (b'{"iter":0,"keep":true}', "unknown_shape"),
        (b'{"type":"run","segmentId":"a"}', "unknown_shape"),
        (b"x" * 1_000_000, "malformed"),
        (b"\x01" * 1_000_000, "malformed"),
    ],
    ids=lambda value: value[:24] if isinstance(value, bytes) else value,
)
def test_a_line_that_cannot_be_read_is_kept_whole(line, kind):
    batch = read(RUN + b"\n" + line + b"\n" + RUN + b"\n")

    assert batch.quarantined == [(2, kind, "kept")]
    assert restored(batch.records[1:-1]) == line
    assert [r["stream"] for r in batch.records[1:-1]] == ["quarantine"] * (len(batch.records) - 2)
    assert all(len(json.dumps(record)) < RECORD_BYTES_MAX for record in batch.records)
    for record in batch.records[1:-1]:
        validate("quarantine", [{k: v for k, v in record.items() if k != "stream"}])


def test_blank_lines_hold_nothing_and_are_counted():
    batch = read(b"\n   \n\r\n\t\n" + RUN + b"\r\n")

    assert batch.cursor.lines == 5
    assert [record["source_line"] for record in batch.records] == [5]
    assert batch.records[0]["raw"] == RUN.decode() + "\r"


@pytest.mark.parametrize(
    ("change", "fields", "defaulted"),
    [
        ({"metric": None}, {"metric": None, "metric_state": "missing"}, "metric"),
        ({"metric": "12"}, {"metric": None, "metric_state": "not_a_number"}, "metric"),
        ({"metric": True}, {"metric": None, "metric_state": "not_a_number"}, "metric"),
        ({"metric": 10**400}, {"metric": None, "metric_state": "infinite"}, "metric"),
        ({"metric": 2**53 + 1}, {"metric": 2.0**53, "metric_state": "finite"}, None),
        ({"metric": 0}, {"metric": 0.0, "metric_state": "finite"}, None),
        ({"metric": -3}, {"metric": -3.0}, None),
        ({"status": "kept?"}, {"status": "unknown", "status_raw": "kept?"}, "status"),
        ({"status": "KEEP"}, {"status": "unknown", "status_raw": "KEEP"}, "status"),
        ({"status": ["keep"]}, {"status": "unknown", "status_raw": None}, "status"),
        ({"status": "errored"}, {"status": "errored", "status_raw": "errored"}, None),
        ({"status": "unknown"}, {"status": "unknown", "status_raw": "unknown"}, None),
        ({"run": 0}, {"run_logged": 0.0}, None),
        ({"run": -1.5}, {"run_logged": -1.5}, None),
        ({"run": 10**400}, {"run_logged": None}, None),
        ({"type": "hook"}, {"type": "run"}, None),
        ({"type": "run"}, {"type": "run"}, None),
        ({"confidence": "2.1"}, {"confidence": None}, None),
        ({"confidence": 3}, {"confidence": 3.0}, None),
        ({"metrics": [1]}, {"metrics": None}, "metrics"),
        ({"metrics": {"a": 1, "b": "2", "c": None}}, {"metrics": {"a": 1.0}}, "metrics.b"),
        ({"metrics": {"x" * 300: 1}}, {"metrics": None}, "metrics"),
        ({"timestamp": "2026-01-01T00:00:00Z"}, {"logged_at": None}, "timestamp"),
        ({"timestamp": 0}, {"logged_at": None}, "timestamp"),
        ({"timestamp": 1e300}, {"logged_at": None}, "timestamp"),
        ({"timestamp": 1778130944}, {"logged_at": "2026-05-07T05:15:44.000000Z"}, "timestamp"),
        ({"commit": 7}, {"commit": None}, "commit"),
        ({"commit": ""}, {"commit": ""}, None),
        ({"description": "\ud800"}, {"description": None}, "description"),
        ({"description": "a\u2028b\x85"}, {"description": "a\u2028b\x85"}, None),
        ({"asi": {"n": 2**70}}, {"payload": None}, "payload"),
        ({"asi": {"deep": json.loads("[" * 70 + "]" * 70)}}, {"payload": None}, "payload"),
    ],
    ids=str,
)
def test_a_value_out_of_the_ordinary_is_told_and_the_line_kept(change, fields, defaulted):
    line = json.dumps(json.loads(RUN) | change).encode()

    record = only(line)

    assert {name: record[name] for name in fields} == fields
    names = [entry.name for entry in read(line + b"\n").defaulted]
    assert (defaulted in names) if defaulted else not names
    assert record["raw"].encode() == line


def test_a_config_without_its_keys_says_what_stands_for_them():
    batch = read(b'{"type":"config"}\n{"type":"config","bestDirection":"Higher"}\n')

    assert [record["name"] for record in batch.records] == [None, None]
    assert [record["direction"] for record in batch.records] == ["minimize", "minimize"]
    assert [(entry.line, entry.name, entry.used) for entry in batch.defaulted][:4] == [
        (1, "name", "the one before"),
        (1, "metricName", "the one before"),
        (1, "metricUnit", "the one before"),
        (1, "bestDirection", "lower"),
    ]


def test_the_forks_direction_is_read_by_us_and_not_by_pi():
    record = only(b'{"type":"config","name":"S","direction":"higher"}')

    assert record["direction"] == "maximize"
    assert as_pi(record)["direction"] == "minimize"


def test_of_a_key_that_comes_twice_the_last_value_is_read_and_told():
    batch = read(b'{"run":1,"metric":5,"status":"keep","metric":6}\n')

    assert batch.records[0]["metric"] == 6
    assert "twice" in next(entry.used for entry in batch.defaulted if entry.name == "line")


@pytest.mark.parametrize(
    ("fields", "status", "metric"),
    [
        (b'"metric":1,"status":"errored"', "keep", 1.0),
        (b'"metric":1,"status":["crash"]', "keep", 1.0),
        (b'"metric":"12"', "keep", 0.0),
        (b'"status":"crash"', "crash", 0.0),
        (b'"metric":1e999', "keep", float("inf")),
        (b'"metric":-' + b"9" * 5000, "keep", float("-inf")),
        (b'"metric":true', "keep", 0.0),
    ],
)
def test_pis_reading_guesses_as_pi_does(fields, status, metric):
    record = only(b'{"run":1,' + fields + b"}")

    seen = as_pi(record)

    assert (seen["status"], seen["metric"]) == (status, metric)


def test_a_long_run_loses_its_payload_before_it_is_set_aside():
    long = RUN.replace(b'"segment":0', b'"asi":"' + b"x" * 600_000 + b'"')
    longer = RUN.replace(b'"segment":0', b'"asi":"' + b"x" * 1_200_000 + b'"')

    batch = read(long + b"\n" + longer + b"\n")

    first, *parts = batch.records
    assert (first["type"], first["payload"], first["raw"]) == ("run", None, long.decode())
    assert [entry.name for entry in batch.defaulted] == ["payload"]
    assert batch.quarantined == [(2, "too_long", "kept")]
    assert [part["part"] for part in parts] == list(range(1, parts[0]["parts"] + 1))
    assert restored(parts) == longer


def test_any_chunks_give_the_same_records():
    data = b"\n".join([CONFIG, RUN, b"", b"{bad", b"\xff\xfe", b"[1]", RUN]) + b"\n" + RUN[:9]
    whole = read(data)

    for size in range(1, len(data) + 1):
        chunks = [data[at : at + size] for at in range(0, len(data), size)]
        (batch,) = pi_log.read([*chunks, b""], LineSplitter("log.jsonl"))

        assert batch == whole
    assert whole.unfinished == 9


def test_the_last_line_of_a_closed_log_needs_no_newline():
    data = CONFIG + b"\n" + RUN

    assert [record["type"] for record in read(data).records] == ["config"]
    assert [record["type"] for record in read(data, closed=True).records] == ["config", "run"]
    assert read(data, closed=True).cursor.offset == len(data)


def test_a_line_without_end_is_refused_before_it_fills_the_memory():
    def endless():
        yield RUN + b"\n"
        while True:
            yield b"x" * (1 << 20)

    with pytest.raises(LimitError) as caught:
        list(pi_log.read(endless(), LineSplitter("log.jsonl")))

    assert (caught.value.file, caught.value.line) == ("log.jsonl", 2)
    assert caught.value.offset == len(RUN) + 1
    assert LINE_BYTES_MAX == 4 << 20


def test_reading_goes_on_from_the_cursor_of_every_line(tmp_path):
    lines = [CONFIG, RUN, b"", b"{bad", RUN]
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    (whole,) = PiLog(path).read(None)

    for cut in range(len(lines) + 1):
        path.write_bytes(b"".join(line + b"\n" for line in lines[:cut]))
        (first,) = PiLog(path).read(None)
        path.write_bytes(b"\n".join(lines) + b"\n")
        (rest,) = PiLog(path).read(first.cursor)

        assert first.records + rest.records == whole.records
        assert rest.cursor == whole.cursor


@pytest.mark.parametrize("position", range(len(CONFIG) + 1))
def test_a_changed_byte_before_the_cursor_starts_a_new_generation(tmp_path, position):
    path = tmp_path / "log.jsonl"
    data = bytearray(CONFIG + b"\n")
    path.write_bytes(data)
    (first,) = PiLog(path).read(None)
    data[position] ^= 1
    path.write_bytes(bytes(data) + RUN + b"\n")

    (again,) = PiLog(path).read(first.cursor)

    assert {record["generation"] for record in again.records} == {2}
    assert restored(again.records[-1:]).endswith(RUN)


def test_only_a_regular_file_is_a_log(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "closed").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "log.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "log.jsonl").write_bytes(RUN + b"\n")

    for name in ("pipe", "."):
        with pytest.raises(InputError):
            list(PiLog(tmp_path / name).read(None))
    with pytest.raises(StorageError):
        list(PiLog(tmp_path / "loop").read(None))
    assert len(next(PiLog(tmp_path / "link").read(None)).records) == 1


def test_every_line_of_every_real_log_is_kept_byte_for_byte(shared):
    for path in sorted((shared / "data" / "experiments" / "autoresearch").iterdir()):
        data = path.read_bytes()

        records = [record for batch in PiLog(path).read(None) for record in batch.records]

        kept = {record["source_line"]: restored([record]) for record in records}
        lines = data.split(b"\n")
        assert b"\n".join(kept.get(n, b"") for n in range(1, len(lines) + 1)) == data
