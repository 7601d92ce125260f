"""Writers, compactions, sweeps and readers at the same time: each row once, nobody refused."""

import subprocess
import sys
import threading
from contextlib import suppress

from varvite.errors import SessionLockedError
from varvite.segments.compact import compact
from varvite.segments.pins import pinned
from varvite.segments.sweep import gc

COMPACTING = """
import sys
from varvite.disk.files import Files, Folder
from varvite.errors import SessionLockedError
from varvite.segments.compact import compact
done = 0
while done < 4:
    try:
        compact(Folder(Files(), sys.argv[1]))
        done += 1
    except SessionLockedError:
        pass
"""


def test_two_compactions_and_a_writer_leave_every_row_once(lab, nodes):
    lab.create("s", nodes(10))
    command = [sys.executable, "-c", COMPACTING, str(lab.path)]
    others = [subprocess.Popen(command) for _ in range(2)]
    for _ in range(25):
        lab.append("s", nodes(6), batch=2, seal_bytes=900)
    assert [one.wait() for one in others] == [0, 0]
    compact(lab.store)
    assert lab.segment_rows() == lab.journal_rows()
    assert len(lab.journal_rows()["nodes"]) == 160


def test_every_snapshot_beside_compactions_and_sweeps_holds_each_row_once(lab, nodes, monkeypatch):
    monkeypatch.setattr("varvite.segments.plan.FAN_IN_MIN", 2)
    lab.create("s", nodes(20))
    uid = lab.uid("s")
    compact(lab.store)
    stop, wrong, seen = threading.Event(), [], []

    def read():
        while not stop.is_set():
            with pinned(lab.fresh()) as manifest:
                seqs = [row["seq"] for row in lab.segment_rows(manifest)["nodes"]]
            seen.append(len(seqs))
            if seqs != list(range(1, manifest.compacted(uid) + 1)):
                wrong.append(seqs)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(6):
        lab.append("s", nodes(5))
        compact(lab.fresh())
        with suppress(SessionLockedError):
            gc(lab.fresh(), grace_hours=0)
    stop.set()
    reader.join()

    assert wrong == []
    assert len(seen) > 2
    assert lab.segment_rows() == lab.journal_rows()
