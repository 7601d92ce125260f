import pytest

from varvite.disk import proof
from varvite.errors import CorruptError

VALUES = {"uid": "abc", "counts": {"notes": 3}, "text": 'é\n"{}', "none": None, "big": 2**63}


def read(data):
    try:
        return proof.read_document(data, "state.json")
    except CorruptError:
        return None


def test_a_document_reads_back():
    assert proof.read_document(proof.document(VALUES), "state.json") == VALUES


def test_any_changed_byte_of_a_document_is_found():
    data = proof.document(VALUES)

    for place, old in enumerate(data):
        for mask in range(1, 256):
            found = read(data[:place] + bytes([old ^ mask]) + data[place + 1 :])
            assert found in (None, VALUES)


def test_a_document_cut_anywhere_is_found():
    data = proof.document(VALUES).rstrip()

    assert [cut for cut in range(len(data)) if read(data[:cut]) is not None] == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b'"crc"',
        b"{}",
        b'{"crc":"x"}',
        b'{"crc":null}',
        b'{"crc":[1]}',
        b"\0" * 4096,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"crc":1' + b"0" * 5000 + b"}",
        b"\xff\xfe",
        b'{"a":NaN,"crc":1}',
        b"<<<<<<< HEAD\n{}\n=======\n",
    ],
)
def test_what_is_no_document_is_refused_with_its_file(data):
    with pytest.raises(CorruptError) as caught:
        proof.read_document(data, "state.json")

    assert caught.value.file == "state.json"


def test_a_line_that_is_no_proof_is_passed_over():
    line = proof.line("commit", {"batch": 1})

    assert proof.read_line(line)[1]["batch"] == 1
    for other in (
        b"",
        b"\n",
        line[:-3],
        line + b"x",
        b" " + line,
        b"x" * 70_000,
        line.replace(b":", b": "),
        b'{"commit":[1,{"crc":1}}\n',
        b'{"commit":{"a":{"crc":01}}\n',
        b'{"commit":{},"commit":7,"crc":{"crc":1}}\n',
    ):
        assert proof.read_line(other) is None
