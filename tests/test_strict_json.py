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


def test_spans_give_each_value_byte_for_byte():
    text = '{ "file" : "a\\"}{" , "payload": {"x": [1, 2.50, {"y": null}]} }'

    found = {key: text[begin:end] for key, (begin, end) in strict_json.spans(text).items()}

    assert found == {"file": '"a\\"}{"', "payload": '{"x": [1, 2.50, {"y": null}]}'}
    assert json.loads(found["payload"]) == json.loads(text)["payload"]
