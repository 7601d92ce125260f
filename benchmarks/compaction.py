"""Compacting a journal, against DuckDB's own COPY from JSON to Parquet of the same lines."""

import json
import os
import statistics
import sys
from collections.abc import Iterator

from benchmarks import seeding
from benchmarks.measuring import Ran, Spent, run
from benchmarks.rows import Row
from benchmarks.seeding import SESSION, Plan
from varvite.disk.files import Files, Folder
from varvite.records.contracts import stream_columns
from varvite.session import parts
from varvite.session.streams import by_stream

KINDS = {"revised": "node records", "graph": "a graph session"}
TARGET = 1.0
_COMPACT = """
import json, sys, time, varvite, varvite.segments.compact
from varvite.disk.files import Files, Folder
from varvite.segments import manifest
began, last = time.perf_counter(), {}
def note(what, done, total):
    last[what] = time.perf_counter() - began
receipt = varvite.open(sys.argv[1]).compact(progress=note)
print(json.dumps({"seconds": last["compact"], "all": time.perf_counter() - began,
                  "bytes_in": receipt.bytes_in, "bytes_out": sum(
                      one.bytes for one in manifest.load(Folder(Files(), sys.argv[1])).segments)}))
"""
_COPY = """
import json, sys, time, duckdb
given = json.load(open(sys.argv[1]))
began = time.perf_counter()
connection = duckdb.connect()
connection.execute("set enable_progress_bar = false")
for stream, columns in given.items():
    connection.execute(f"copy (select * from read_json('{sys.argv[2]}/{stream}.ndjson', "
        f"format='newline_delimited', columns={columns}, maximum_object_size=4194304)) "
        f"to '{sys.argv[2]}/{stream}.parquet' (format parquet, compression zstd)")
print(json.dumps({"seconds": time.perf_counter() - began}))
"""


def rows(plan: Plan) -> Iterator[Row]:
    for kind, what in KINDS.items():
        for records in plan.sizes:
            yield _compare(plan, kind, what, records)


def _compare(plan: Plan, kind: str, what: str, records: int) -> Row:
    ours, theirs = [], []
    with seeding.scratch(plan) as folder:
        columns = _lines(seeding.seeded(plan, kind, records), folder)
        for _ in range(max(1, plan.rounds // 10)):
            ours.append(_compact(plan, kind, records))
            theirs.append(run([sys.executable, "-c", _COPY, columns, folder]))
    spent, base = (Spent([_said(ran, "seconds") for ran in runs]) for runs in (ours, theirs))
    bytes_in, bytes_out = _said(ours[0], "bytes_in"), _said(ours[0], "bytes_out")
    facts = {
        "MB/s": bytes_in / spent.wall_s / 1e6,
        "MB in": bytes_in / 1e6,
        "% of JSONL": 100 * bytes_out / bytes_in,
        "MB peak": max(ran.peak for ran in ours) / 1e6,
        "MB peak of COPY": max(ran.peak for ran in theirs) / 1e6,
        "CPU s": min(ran.cpu_s for ran in ours),
        "CPU s of COPY": min(ran.cpu_s for ran in theirs),
        "s with archiving": statistics.median(_said(ran, "all") for ran in ours),
    }
    name = f"compact {what}, times as fast"
    return Row(name, records, spent, "DuckDB COPY", base, TARGET, at_least=True, facts=facts)


def _compact(plan: Plan, kind: str, records: int) -> Ran:
    with seeding.copied(plan, kind, records) as store:
        return run([sys.executable, "-c", _COMPACT, store])


def _said(ran: Ran, name: str) -> float:
    return float(json.loads(ran.output)[name])


def _lines(store: str, folder: str) -> str:
    """The journal's record lines in one file a stream; the path of their columns."""
    columns: dict[str, dict[str, str]] = {}
    with Folder(Files(), store) as root, root.folder(SESSION) as session:
        for batch in parts.batches(session):
            for stream, lines in by_stream(batch.lines()).items():
                columns[stream] = stream_columns(stream)
                with open(f"{folder}/{stream}.ndjson", "ab") as file:
                    file.write(b"\n".join([*lines, b""]))
    with open(f"{folder}/columns.json", "w", encoding="utf-8") as file:
        json.dump(columns, file)
    return os.path.join(folder, "columns.json")
