"""A log that is followed line by line, with the store compacted in between."""

import json
import random

import pytest

import varvite
from varvite.adapters.pi_log import PiLog

LINES = [
    b'{"type":"config","name":"a","metricName":"ms","metricUnit":"ms","bestDirection":"lower"}',
    b'{"run":1,"metric":5,"status":"keep"}',
    b'{"run":2,"metric":4,"status":"discard"}',
    b'{"type":"config","name":"b","metricName":"ops","metricUnit":"","bestDirection":"higher"}',
    b'{"run":3,"metric":0,"status":"crash"}',
    b'{"run":4,"metric":-1,"status":"keep"}',
    b'{"run":4,"metric":2,"status":"keep"}',
    b'{"type":"config","name":"c","metricName":"x","metricUnit":"","bestDirection":"lower"}',
    b'{"type":"config","name":"d","metricName":"y","metricUnit":"","bestDirection":"lower"}',
    b'{"run":9,"metric":1,"status":"checks_failed"}',
]
SEGMENT = """
select runs, kept, baseline_metric, best_metric, best_ordinal from best_runs where segment = ?
"""


def row(segment):
    """The state as a row of the trajectories, without the confidence."""
    baseline, best = segment.baseline, segment.best
    return [
        segment.segment - 1,
        segment.runs,
        segment.statuses.get("keep", 0),
        baseline.metric if baseline else None,
        best.metric if best else None,
        best.ordinal if best else None,
    ]


def by_index(session):
    state = session.state()
    segment = session.segment()
    return row(segment) if segment else [state.segment - 1, 0, 0, None, None, None]


def by_sql(store, session):
    number = session.state().segment
    found = store.sql(SEGMENT, [number], sessions=[session.id]).rows()
    return [number - 1, *(found[0] if found else (0, 0, None, None, None))]


def followed(store, session, path, lines, compact_after, *, asked=frozenset()):
    """Import line by line, compacting after some; the row of the state after each."""
    path.write_bytes(b"")
    for number, line in enumerate(lines, 1):
        with path.open("ab") as log:
            log.write(line + b"\n")
        session.import_log(PiLog(path))
        if number in compact_after:
            store.compact()
        if number in asked:
            assert by_sql(store, session) == by_index(session), number
        yield by_index(session)


def trajectory(ledger, records):
    for record in records:
        ledger.add(record)
        yield row(ledger.current())


@pytest.fixture
def wanted(dict_ledger, pi_records):
    ledger = dict_ledger()
    return list(trajectory(ledger, pi_records([b"\n".join(LINES) + b"\n"])))


def test_a_compaction_after_every_line_changes_no_state_by_index_or_sql(tmp_path, wanted):
    store = varvite.open(tmp_path / "store")
    every = range(1, len(LINES) + 1)

    with store.experiment("e", create=True, level="fast") as session:
        seen = list(followed(store, session, tmp_path / "log", LINES, every, asked={4, 7, 9, 10}))

    assert seen == wanted
    assert seen[-1] == [3, 1, 0, 1, None, None]


@pytest.mark.parametrize("cut", range(1, len(LINES)))
def test_one_compaction_at_any_line_changes_nothing(tmp_path, wanted, cut):
    store = varvite.open(tmp_path / "store")

    with store.experiment("e", create=True, level="fast") as session:
        seen = list(followed(store, session, tmp_path / "log", LINES, {cut}, asked={len(LINES)}))

    assert seen == wanted


@pytest.mark.slow
def test_every_real_log_has_its_trajectory_with_compactions_between_its_lines(shared, tmp_path):
    folder = shared / "data" / "experiments"
    files = json.loads((folder / "expected.json").read_text())["files"]
    chance, seen_logs = random.Random(17), 0
    store = varvite.open(tmp_path / "store")

    for text in (folder / "trajectories.ndjson").read_text().splitlines():
        wanted = json.loads(text)
        if files[wanted["file"]]["set"] != "strict":
            continue
        content = (folder / "autoresearch" / wanted["file"]).read_bytes()
        lines = [line for line in content.split(b"\n") if line.strip()]
        cuts = set(chance.sample(range(1, len(lines) + 1), min(6, len(lines))))
        name = wanted["file"].removesuffix(".jsonl")
        with store.experiment(name, create=True, level="fast") as session:
            rows = followed(
                store, session, tmp_path / "log", lines, cuts, asked={max(cuts), len(lines)}
            )
            for ours, theirs in zip(rows, wanted["rows"], strict=True):
                assert ours == theirs[1:7], (name, ours, theirs)
        seen_logs += 1
    assert seen_logs >= 33
