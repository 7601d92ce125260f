"""One role of the test of writers, readers and compaction in company: a process of its own.

Every record is a function of its seq, and every batch's size of its number, so a
reader knows what each prefix must look like without asking anybody.
"""

import json
import os
import sys
import time
from itertools import accumulate, count
from random import Random

import varvite
from varvite.errors import BusyError
from varvite.graph.session import GRAPH
from varvite.session.writer import Writer

SESSIONS = ("a", "b")
STREAMS = ("nodes", "events", "weather")
SEAL_BYTES = 12_000
ASKED = """
    select session_id, count(*), min(seq), max(seq), count(distinct seq), sum(mark)::bigint
    from (select session_id, seq, (body ->> '$.mark')::bigint as mark from records)
    group by session_id
"""


def mark(seq):
    return seq * 2_654_435_761 % 2**31


def size(batch):
    return 1 + batch * 7 % 5


def record(seq):
    own = {"nodes": {"node_kind": "variable", "score": seq / 7}, "events": {"type": "noted"}}
    stream = STREAMS[seq % 3]
    return {"stream": stream, "mark": mark(seq), "text": "x" * (seq % 90)} | own.get(stream, {})


def write(store, stopped):
    batches = 0
    with store._folder() as folder:
        writers = [Writer(folder, name, GRAPH, seal_bytes=SEAL_BYTES) for name in SESSIONS]
        for batch in count(1):
            for writer in writers:
                first = writer.cursor + 1
                writer.append([record(seq) for seq in range(first, first + size(batch))])
            batches += 1
            if stopped():
                break
            time.sleep(0.004)
        cursors = [writer.cursor for writer in writers]
        for writer in writers:
            writer.close()
    return {"batches": batches, "cursors": cursors}


class Prefixes:
    """The sums that a prefix must have, and where batches end."""

    def __init__(self):
        self._sums, self._ends, self._batches = [0], {0}, accumulate(map(size, count(1)))

    def check(self, rows, cursors):
        found = dict.fromkeys(SESSIONS, 0)
        for name, records, first, last, distinct, total in rows:
            while len(self._sums) <= last:
                self._sums.append(self._sums[-1] + mark(len(self._sums)))
            while max(self._ends) < last:
                self._ends.add(next(self._batches))
            assert (first, records, distinct) == (1, last, last), (name, first, records, distinct)
            assert last in self._ends, f"{name}: seq {last} is inside a batch"
            assert total == self._sums[last], f"{name}: the marks up to {last} add up to {total}"
            found[name] = last
        assert cursors in (None, found), (cursors, found)
        return found


def read(store, stopped):
    prefixes, chance = Prefixes(), Random(os.getpid())
    seen, asked, compacted = dict.fromkeys(SESSIONS, 0), 0, set()
    held = store.connect()
    before = prefixes.check(held.sql(ASKED).fetchall(), None)
    while not stopped() or asked < 3:
        with store.connect() as now:
            cursors = dict(now.sql("select session_id, cursor from sessions").fetchall())
            found = prefixes.check(now.sql(ASKED).fetchall(), cursors)
            generations = now.sql("select max(generation) from segments").fetchall()[0]
            compacted.update(generations)
        assert all(found[name] >= seen[name] for name in SESSIONS), (found, seen)
        past = {name: found[name] for name in SESSIONS if chance.random() < 0.5}
        again = prefixes.check(store.sql(ASKED, as_of=past).rows(), None)
        assert {name: again[name] for name in past} == past
        alone = prefixes.check(store.sql(ASKED, sessions=["a"], as_of=found["a"]).rows(), None)
        assert alone == {"a": found["a"], "b": 0}
        assert prefixes.check(held.sql(ASKED).fetchall(), None) == before
        seen, asked = found, asked + 1
    return {"asked": asked, "seen": seen, "generations": len(compacted)}


def compact(store, stopped):
    runs = sweeps = busy = 0
    while not stopped() or runs < 3:
        try:
            runs += store.compact().rows > 0
            if runs % 3 == 2:
                store.gc(grace_hours=0)
                sweeps += 1
        except BusyError:
            busy += 1
        time.sleep(0.02)
    return {"runs": runs, "sweeps": sweeps, "busy": busy}


if __name__ == "__main__":
    role, path, stop = sys.argv[1:]
    import varvite.query.snapshot  # loaded before the others are told to begin

    print("ready", flush=True)  # noqa: T201  (to the parent)
    result = globals()[role](varvite.open(path), lambda: os.path.exists(stop))
    print(json.dumps(result), flush=True)  # noqa: T201  (to the parent)
