import json

import pytest

from varvite.disk import strict_json
from varvite.errors import MalformedInputError


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"", 10),
        (b'{"a":1', 16),
        (b'{"a":1,}', 17),
        (b'{"a":NaN}', 10),
        (b'{"a":-Infinity}', 10),
        (b'{"a":1,"a":2}', 10),
        (b"\xef\xbb\xbf{}", 10),
        (b'{"a":"\xff"}', 16),
        (b'{"a":1}{"b":2}', 17),
        (b"[" * 100_000, 10),
        (b'{"a":' + b"1" * 5000 + b"}", 10),
        (b"\x00\x00", 10),
        ('{"é":tru}'.encode(), 16),
    ],
)
def test_what_has_no_single_meaning_is_refused_with_its_offset(data, offset):
    with pytest.raises(MalformedInputError) as caught:
        strict_json.loads(data, file="x.json", offset=10)

    assert caught.value.offset == offset
    assert caught.value.file == "x.json"


@pytest.mark.parametrize(
    ("data", "given", "line", "message"),
    [
        (b'\n{"a":1,\n "b":tru}', {}, 3, "x.json:3, byte 14: Expecting value"),
        (b'{"a":1,\n"\xff"}', {}, 2, "x.json:2, byte 9: not UTF-8"),
        (b'{"a":tru}', {"line": 7, "offset": 90}, 7, "x.json:7: Expecting value"),
        (b'{"a":tru}', {"offset": 90}, None, "x.json, byte 95: Expecting value"),
        (b'{\n"a":NaN}', {}, None, "x.json, byte 0: NaN is not JSON"),
    ],
)
def test_a_refusal_has_the_line_that_is_at_fault_where_it_is_known(data, given, line, message):
    with pytest.raises(MalformedInputError) as caught:
        strict_json.loads(data, file="x.json", **given)

    assert (caught.value.line, caught.value.message) == (line, message)


def test_spans_give_each_value_byte_for_byte():
    text = '{ "file" : "a\\"}{" , "payload": {"x": [1, 2.50, {"y": null}]} }'

    found = {key: text[begin:end] for key, (begin, end) in strict_json.spans(text).items()}

    assert found == {"file": '"a\\"}{"', "payload": '{"x": [1, 2.50, {"y": null}]}'}
    assert json.loads(found["payload"]) == json.loads(text)["payload"]
