from contextlib import closing

import orjson
import pytest

from varvite.segments import scan
from varvite.segments.chunks import CHUNK_BYTES, scanned
from varvite.segments.compact import SCAN_MEMORY, SCAN_THREADS
from varvite.segments.gathering import Gathered
from varvite.segments.scan import Owner


def _response(chars):
    raw = orjson.dumps({"code": 0, "data": {"variables": ["é" * (chars // 2)]}}).decode()
    envelope = {"seq": 1, "stream": "responses", "id": "r", "rev": 0, "prev_seq": None}
    at = {"at": "2026-01-01T00:00:00Z", "actor": "agent"}
    return orjson.dumps(envelope | at | {"raw": raw})


@pytest.mark.parametrize("chars", [8_000, 100_000, 900_000])
def test_a_chunk_of_long_lines_is_scanned_within_the_memory_limit(chars):
    gathered, line = Gathered("responses"), _response(chars)
    count = CHUNK_BYTES // len(line)
    gathered.spool.write(scan.lines(Owner("s", "u" * 32), [line] * count))

    with (
        closing(gathered.spool),
        closing(scan.connect(memory_limit=SCAN_MEMORY, threads=SCAN_THREADS)) as connection,
    ):
        table = scanned(connection, gathered)

    assert table.num_rows == count
    assert table.column("raw")[0].as_py() == orjson.loads(line)["raw"]
