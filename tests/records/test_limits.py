import pytest

from varvite.errors import InvalidRecordError, LimitError
from varvite.records.contracts import validate

NODE = {"stream": "nodes", "id": "n", "node_kind": "variable"}
BEYOND_INT64 = 2**63


@pytest.mark.parametrize("value", [BEYOND_INT64, -BEYOND_INT64 - 1, 2**64])
def test_an_integer_that_a_float_field_takes_must_still_be_of_64_bits(value):
    with pytest.raises(LimitError) as caught:
        validate("nodes", [NODE, NODE | {"score": value}])

    assert caught.value.data["path"] == "nodes[1].score"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize(
    "fields",
    [
        lambda value: {"score": value},
        lambda value: {"unknown": value},
        lambda value: {"metadata": {"deep": [value]}},
    ],
)
def test_no_field_takes_what_is_not_a_json_number(fields, value):
    with pytest.raises((LimitError, InvalidRecordError)):
        validate("nodes", [NODE | fields(value)])


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"unknown": BEYOND_INT64}, "nodes[0].unknown"),
        ({"metadata": {"a": BEYOND_INT64}}, "nodes[0].metadata.a"),
        ({"metadata": {"a": [1, BEYOND_INT64]}}, "nodes[0].metadata.a[1]"),
        ({"metadata": {"a": "\ud800"}}, "nodes[0].metadata.a"),
        ({"metadata": {"\ud800": 1}}, "nodes[0].metadata"),
        ({"metadata": {"k" * 257: 1}}, "nodes[0].metadata"),
        ({"metadata": {"é" * 129: 1}}, "nodes[0].metadata"),
        ({"unknown": {1: 1}}, "nodes[0].unknown"),
        ({"k" * 257: 1}, "nodes[0]"),
        ({"unknown": b"bytes"}, "nodes[0].unknown"),
    ],
)
def test_what_a_contract_leaves_open_is_held_against_the_limits_of_json(fields, path):
    with pytest.raises(LimitError) as caught:
        validate("nodes", [NODE | fields])

    assert caught.value.data["path"] == path
