from collections import Counter
from random import Random

import pytest

from varvite.experiment import trend
from varvite.experiment.fold import fold
from varvite.experiment.loop_state import RECENT

RUN = {"seq": 1, "id": "r1", "segment": 1, "ordinal": 1, "status": "keep", "metric": 1.5}
REACHED = {"offset": 1, "sha256": "0", "lines": 2, "runs": 1}
EVENTS = [
    ("pointer_set", {"pointer": "best", "run": "r1"}),
    ("run_kept", {"run": RUN}),
    ("keep_put", {"run": "r1"}),
    ("status_changed", {"from": "active", "to": "finalized"}),
    ("status_changed", {"from": "finalized", "to": "active"}),
    ("log_read", {"source": "log", "reached": REACHED | {"generation": 1}}),
    ("log_read", {"source": "log", "reached": REACHED | {"generation": 2}}),
    ("session_updated", {"name": "other"}),
    ("session_row_read", {"source": "table", "reading": 1, "row": {}}),
    ("run_measured", {"metric": 2.5}),
    ("log_intended", {"run_id": "r9"}),
    ("log_abandoned", {}),
    ("finalize_began", {"cwd": "."}),
    ("finalize_intended", {"plan": {}}),
]


def run(rng, seq):
    told = {"code": rng.choice("ab"), "change": rng.choice("cd"), "replicates": [1.0, rng.random()]}
    return {
        "stream": "records",
        "type": "run",
        "segment": rng.choice((1, 2)),
        "ordinal": seq,
        "status": rng.choice(("keep", "discard", "crash")),
        "metric": rng.choice((None, 3, rng.gauss(9, 1))),
        "payload": {name: told[name] for name in told if rng.random() < 0.5},
    }


def other(rng):
    kind, payload = rng.choice(EVENTS)
    event = {"stream": "events", "type": kind, "payload": payload}
    config = {"type": "config", "segment": rng.choice((1, 2)), "direction": "maximize"}
    patch = {"type": "patch", "segment": 1, "target_seq": 1, "payload": {"commit": kind}}
    told = {"stream": "records", **rng.choice((config, patch))}
    return rng.choice((event, event, told))


def records(rng, size):
    for seq in range(1, size + 1):
        made = run(rng, seq) if rng.random() < 0.5 else other(rng)
        yield {"seq": seq, "id": f"r{seq}", "at": f"2026-01-01T00:00:00.{seq:06}Z"} | made


def folded(batches):
    index = {}

    def read(table, key):
        return index.get((table, key))

    for batch in batches:
        index.update({(table, key): value for table, key, value in fold(batch, read)})
    return index


@pytest.mark.parametrize("seed", range(20))
def test_records_of_one_batch_make_the_index_that_a_batch_each_makes(seed):
    made = list(records(Random(seed), 150))

    assert folded([made]) == folded([one] for one in made)


def test_of_a_segment_the_first_try_and_the_sum_of_the_later_ones_are_kept():
    outcomes = [("crash", None), ("keep", 1.0), ("discard", 2.0), ("pending", 8.0), ("keep", 4.0)]
    rng = Random(0)
    made = [
        run(rng, seq)
        | {"seq": seq, "id": f"r{seq}", "at": "", "payload": None, "segment": 1}
        | {"status": status, "metric": metric}
        for seq, (status, metric) in enumerate(outcomes, 1)
    ]

    index = folded([made])
    kept = trend.of_segment(lambda table, key: index.get((table, key)), 1)

    assert (kept.runs, kept.tries, kept.first, kept.later) == (5, 3, 1.0, 6.0)


def test_a_batch_asks_the_index_once_a_key_and_gives_each_once():
    rng, asked = Random(0), Counter()
    made = [run(rng, seq) | {"seq": seq, "id": f"r{seq}", "at": ""} for seq in range(1, 101)]

    def read(table, key):
        asked[table, key] += 1

    given = Counter(entry[:2] for entry in fold(made, read))

    assert set(asked.values()) == set(given.values()) == {1}
    assert {table for table, _ in asked}.isdisjoint({RECENT})
