"""A file of payloads is read as it lies there."""

import gzip
import json

import pytest

from varvite.errors import MalformedInputError
from varvite.graph import landscape, payloads

ONE = '{"code":0, "data" : {"variables": [ ]},"trace_id":"a\\u00e9"}'
TWO = '{ "code":7,"trace_id":"é" }'


@pytest.fixture
def written(tmp_path):
    def write(data, name="x.ndjson"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return write


def read(file):
    return list(payloads.in_file(file))


@pytest.mark.parametrize("around", ["{}", "{}\n", "\n\n  {}\n\n"])
def test_a_file_may_hold_one_response(written, around):
    (one,) = read(written(around.replace("{}", ONE), "one.json"))

    assert (one.raw, one.file) == (ONE, "one.json")
    assert one.offset == around.index("{")


def test_a_response_may_spread_over_many_lines(written):
    text = json.dumps(json.loads(ONE), indent=2)

    (one,) = read(written(f"\n{text}\n", "one.json"))

    assert (one.raw, one.file, one.line, one.offset) == (text, "one.json", None, 1)


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_may_hold_a_response_a_line(written, end):
    first, second = read(written(f"{ONE}\n\r\n{TWO}\r\n{ONE}{end}"))[1:]

    assert (first.raw, first.line) == (TWO, 3)
    assert first.offset == len(ONE.encode()) + 3
    assert (second.raw, second.line, second.call) == (ONE, 4, "x.ndjson:4")


def test_an_envelope_gives_its_payload_byte_for_byte(written):
    line = f'{{"note":[1],"file":"dir/é.json","query":"q", "payload" :  {ONE} ,"index":"local"}}'

    (one,) = read(written(line))

    assert one.raw == ONE
    assert (one.file, one.call, one.query) == ("dir/é.json", "dir/é.json", "q")
    assert (one.index_id, one.envelope) == ("local", {"note": [1]})
    assert line.encode()[one.offset :].startswith(ONE.encode())


def test_normalised_hits_are_payloads_too(written):
    (one,) = read(written('{"query": "q", "index": "local", "hits": [{"id": "a"}]}'))

    delta = payloads.read(one)

    assert delta.query == "q"
    assert delta.hits[0].source_key == "lkm:local:variable:a"


@pytest.mark.parametrize(
    ("text", "line", "offset"),
    [
        (f"{ONE}\n{ONE[:-1]}\n", 2, 2 * len(ONE)),
        (f"{ONE}\n[1]\n", 2, len(ONE) + 1),
        (f"{ONE}\n  7\n", 2, len(ONE) + 3),
        ('{"code": 0, }\n', 1, 12),
        ('{"file": "", "payload": {}}\n', 1, 0),
        ('{"file": 7, "payload": {}}\n', 1, 0),
        ('{"query": ["q"], "payload": {}}\n', 1, 0),
        ('{"retry_of": 1, "payload": {}}\n', 1, 0),
        ('{"index": "a:b", "payload": {}}\n', 1, 0),
        ('{"index": 4, "payload": {}}\n', 1, 0),
        ('{"query": "\\ud800", "payload": {}}\n', 1, 0),
        ('{"payload": 1e4, "payload": {}}\n', 1, 0),
        ('{\n"code": 0,\n}\n', 3, 13),
        ("not json", 1, 0),
        (b"\xff\n", 1, 0),
        (b"\xef\xbb\xbf{}\n", 1, 0),
        (ONE.encode() + b"\n\x00\x00\x00\n", 2, len(ONE) + 1),
    ],
)
def test_what_is_no_payload_is_refused_with_file_line_and_offset(written, text, line, offset):
    file = written(text)

    with pytest.raises(MalformedInputError) as caught:
        read(file)

    assert (caught.value.file, caught.value.line, caught.value.offset) == (file, line, offset)


@pytest.mark.parametrize(
    "data", [gzip.compress(ONE.encode(), mtime=0), ONE + ONE, "{\n}\n{\n}", ONE[:-9]]
)
def test_what_is_no_json_is_refused_with_what_a_file_may_have(written, data):
    with pytest.raises(MalformedInputError) as caught:
        read(written(data))

    assert caught.value.hint == "a file has one JSON object, or one a line, as plain UTF-8"


@pytest.mark.parametrize(
    ("payload", "retry_of", "path"),
    [('{"code": "0"}', None, "$.code"), ('{"code": 7}', "none", "$.retry_of")],
)
def test_a_fault_inside_an_envelope_is_told_in_the_file_that_was_given(
    written, payload, retry_of, path
):
    line = json.dumps({"file": "elsewhere.json", "retry_of": retry_of})[:-1]
    file = written(f'{TWO}\n{line}, "payload": {payload}}}\n')

    with pytest.raises(MalformedInputError) as caught:
        landscape.plan(read(file), lambda table, key: None)

    offset = len(TWO.encode()) + 1 + len(f'{line}, "payload": ')
    place = {name: caught.value.data[name] for name in ("file", "line", "offset", "path")}
    assert place == {"file": file, "line": 2, "offset": offset, "path": path}


def test_what_lies_before_the_fault_is_given_out(written):
    found = payloads.in_file(written(f"{ONE}\n{TWO}\nx\n"))

    assert [next(found).raw, next(found).raw] == [ONE, TWO]


def test_an_empty_file_holds_nothing(written):
    assert read(written("")) == read(written("\n \n")) == []


def test_an_object_too_large_to_hold_is_refused(written, monkeypatch):
    monkeypatch.setattr(payloads, "WHOLE_FILE_BYTES_MAX", 10)

    with pytest.raises(MalformedInputError):
        read(written('{\n"code": 0,\n"data": {}\n}'))


@pytest.mark.parametrize(
    ("label", "first"),
    [
        ("dir/round_0000_003r_match_x_retry.json", "dir/round_0000_003_match_x.json"),
        ("a_retry.json", "a.json"),
        ("a_retry2.json", "a.json"),
        ("a_retry", "a"),
    ],
)
def test_a_retry_names_its_first_try(label, first):
    assert first in payloads.first_tries(label)


@pytest.mark.parametrize("label", ["a.json", "retry.json", "a_retry_b.json", ""])
def test_another_label_is_no_retry(label):
    assert payloads.first_tries(label) == ()


@pytest.mark.parametrize(
    ("hit", "path"),
    [
        ({"id": "a", "score": float("nan")}, "$.hits[1].score"),
        ({"id": "a", "metadata": {"deep": [1.0, float("-inf")]}}, "$.hits[1].metadata.deep[1]"),
    ],
)
def test_a_hit_with_a_number_that_json_has_not_is_refused_and_not_made_null(hit, path):
    with pytest.raises(MalformedInputError) as caught:
        payloads.from_hits([{"id": "b", "score": 1.0}, hit])

    assert caught.value.path == path


@pytest.mark.parametrize("line", ["{}", "[]", "3", '{"code": 0}', '{"code": 0, "data": {}}'])
def test_what_is_neither_a_response_nor_hits_is_refused_with_both_shapes(written, line):
    with pytest.raises(MalformedInputError) as caught:
        list(map(payloads.read, read(written(line))))

    assert caught.value.line == 1
    assert caught.value.hint == (
        'a response has `code` and `data`; hits of your own are {"query": text, "hits": [hit, …]}'
    )
