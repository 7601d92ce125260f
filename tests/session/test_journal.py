import time
from itertools import pairwise

import pytest

from varvite.disk import proof
from varvite.errors import CorruptError, NewerFormatError
from varvite.session import journal, recovery
from varvite.session.journal import Position

UID = "u" * 32
START = Position(seq=0, batch=0, crc=0, epoch=0, offset=0)
FILE = "events.ndjson"


def lines(*seqs):
    return [b'{"seq":%d,"stream":"notes","id":"notes-%d"}\n' % (seq, seq) for seq in seqs]


def part(*batches, level="durable", synced=None):
    data = journal.header_line(UID, START, {"notes": (0, 0)})
    at = journal.read_header(data, FILE).position
    for seqs in batches:
        block, commit = journal.build(
            lines(*seqs), at, key=None, level=level, at="2026-01-01T00:00:00Z", synced=synced
        )
        data += block
        at = Position(commit.last, commit.batch, commit.crc, commit.epoch, len(data))
    return data


def scan(data, seen=0):
    header = journal.read_header(data, FILE)
    found = recovery.scan(data, header, FILE, seen=seen)
    return [data[block.begin : block.middle] for block in found]


def test_a_part_reads_back_as_it_was_built():
    data = part((1, 2), (3,), (4, 5, 6))

    assert scan(data) == [b"".join(lines(1, 2)), b"".join(lines(3)), b"".join(lines(4, 5, 6))]


def test_a_block_cut_at_any_byte_leaves_the_batches_before_it():
    before, whole = part((1, 2)), part((1, 2), (3, 4))

    found = {cut: scan(whole[:cut]) for cut in range(len(before), len(whole))}

    assert found == {cut: [b"".join(lines(1, 2))] for cut in range(len(before), len(whole))}


@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80, 0xFF])
def test_any_changed_byte_is_damage_or_in_a_torn_end(mask):
    header, one, two = part(), part((1, 2)), part((1, 2), (3, 4))
    first, both = b"".join(lines(1, 2)), [b"".join(lines(1, 2)), b"".join(lines(3, 4))]

    for place in range(len(two)):
        data = bytearray(two)
        data[place] ^= mask
        if place < len(one):
            with pytest.raises(CorruptError) as caught:
                scan(bytes(data))
            assert caught.value.offset == (0 if place < len(header) else len(header))
        else:
            assert scan(bytes(data)) == [first]
            with pytest.raises(CorruptError):
                scan(bytes(data), seen=4)
    assert scan(two, seen=4) == both


def test_any_byte_missing_or_doubled_is_found_too():
    one, two = part((1, 2)), part((1, 2), (3, 4))
    first = b"".join(lines(1, 2))

    for place in range(len(two)):
        for data in (
            two[:place] + two[place + 1 :],
            two[:place] + two[place : place + 1] + two[place:],
        ):
            if data.startswith(two):
                assert scan(data) == [first, b"".join(lines(3, 4))]
            elif place < len(one) or data.endswith(two[len(one) :]):
                with pytest.raises(CorruptError):
                    scan(data)
            else:
                assert scan(data) == [first]


def test_batches_that_change_places_are_damage():
    parts = [part(), part((1,)), part((1,), (2,)), part((1,), (2,), (3,))]
    header, *blocks = [parts[0]] + [after[len(before) :] for before, after in pairwise(parts)]

    with pytest.raises(CorruptError):
        scan(header + blocks[1] + blocks[0] + blocks[2])
    with pytest.raises(CorruptError):
        scan(header + blocks[0] + blocks[2])
    with pytest.raises(CorruptError):
        scan(header + blocks[1] + blocks[2])
    assert scan(header + blocks[0] + blocks[0]) == [b"".join(lines(1))]


def test_a_whole_batch_beyond_a_bad_region_is_damage_at_its_beginning():
    one, two = part((1, 2)), part((1, 2), (3,))
    block = two[len(one) :]

    for bad in (b"\0" * 512, b"x", b'{"seq":3,"str', b"\n", one[-40:]):
        with pytest.raises(CorruptError) as caught:
            scan(one + bad + block)
        assert (caught.value.offset, caught.value.batch) == (len(one), 2)


def test_two_batches_that_were_never_synced_may_both_be_torn():
    one = part((1,), level="fast", synced=0)
    three = part((1,), (2,), (3,), level="fast", synced=0)
    hole = bytearray(three)
    hole[len(one) : len(one) + 30] = bytes(30)

    assert scan(bytes(hole)) == [b"".join(lines(1))]


def test_git_conflict_markers_are_named():
    ours, theirs = part((1,), (2,)), part((1,), (2, 3))
    common = part((1,))
    merged = (
        common
        + b"<<<<<<< HEAD\n"
        + ours[len(common) :]
        + b"=======\n"
        + theirs[len(common) :]
        + b">>>>>>> other\n"
    )

    with pytest.raises(CorruptError, match="git conflict") as caught:
        scan(merged)

    assert caught.value.offset == len(common)


def test_a_header_of_another_shape_is_damage():
    good = {"format": 1, "uid": UID, "seq": 0, "batch": 0, "epoch": 0, "chain": 0, "streams": {}}
    for name, value in good.items():
        for bad in (None, "x", -1, 1.5, True, [], {"a": 1}, 2**63):
            if isinstance(bad, type(value)) and not isinstance(bad, bool | int):
                continue
            data = proof.line("journal", good | {name: bad})
            with pytest.raises((CorruptError, NewerFormatError)):
                journal.read_header(data, FILE)
    assert journal.read_header(proof.line("journal", good), FILE).uid == UID


@pytest.mark.parametrize(
    "line",
    [
        b'{"commit":{"batch":1},"commit":5,"x":{"crc":1}}\n',
        b'{"commit":{"a":[1,2,"crc":1}}\n',
        b'{"commit":{"crc":99999999999}}\n',
        b'{"commit":{"batch":[[[]]],"synced":{},"size":"x","crc":1}}\n',
        b'{"commit":{"batch":2,"synced":-1,"size":-5,"crc":1}}\n',
        b'{"commit":{"batch":1,"synced":0,"size":1000000000,"crc":1}}\n',
        b'{"commit":{\n',
        b'{"commit":{' + b"[" * 60_000 + b'"crc":1}}\n',
    ],
)
def test_a_hostile_commit_line_is_a_torn_end(line):
    one = part((1,))

    assert scan(one + b"x\n" + line) == [b"".join(lines(1))]


def test_a_commit_of_another_shape_is_no_batch():
    data = part()
    at = journal.read_header(data, FILE).position
    body = lines(1)[0]
    good = {
        "batch": 1,
        "first": 1,
        "last": 1,
        "size": len(body),
        "key": None,
        "epoch": 0,
        "level": "durable",
        "synced": 0,
        "at": "2026-01-01T00:00:00Z",
    }

    def blocks(values):
        closing = proof.line("commit", values, body=body, seed=at.crc)
        return list(journal.blocks(data + body + closing, at))

    assert len(blocks(good | {"a_later_field": [1]})) == 1
    for name, value in good.items():
        bad = 5 if value is None or isinstance(value, str) else "5"
        assert blocks(good | {name: bad}) == []
        assert blocks({key: value for key, value in good.items() if key != name}) == []
    for name in ("batch", "first", "last", "size"):
        assert blocks(good | {name: good[name] + 1}) == []


def test_the_longest_commit_line_and_header_can_be_read():
    streams = {
        f"{number:03d}".rjust(64, "s"): (2**62, 2**62) for number in range(journal.STREAMS_MAX)
    }
    header = journal.header_line(UID, START, streams)
    at = journal.read_header(header, FILE).position

    block, commit = journal.build(
        lines(1), at, key="é" * 128, level="durable", at="2026-01-01T00:00:00.000000Z"
    )

    assert len(header) < journal.LINE_BYTES_MAX
    assert next(journal.blocks(header + block, at)).commit == commit


def test_a_hostile_tail_costs_about_what_clean_bytes_do():
    size = 4 << 20
    whole = part(*[tuple(range(1 + 500 * n, 501 + 500 * n)) for n in range(150)])
    one = part((1,))
    tails = [
        b'\n{"commit":{' * (size // 12),
        (b'\n{"commit":{' + b'"crc":1' * 9_000) * (size // 63_000),
        (b'\n{"commit":{"a":' + b"[" * 60_000 + b',"crc":1}}') * (size // 60_000),
        bytes(size),
        b"\n" * size,
    ]

    def seconds(data):
        times = []
        for _ in range(3):
            began = time.process_time()
            scan(data)
            times.append(time.process_time() - began)
        return min(times) / len(data)

    clean = seconds(whole)
    assert [seconds(one + tail) < 10 * clean for tail in tails] == [True] * len(tails)
