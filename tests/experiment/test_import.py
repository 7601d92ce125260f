import base64
import json
import random
from threading import Event

import pytest

import varvite
from varvite.adapters import pi_log
from varvite.adapters.pi_log import PiLog
from varvite.disk.files import Files, Folder
from varvite.errors import (
    CommitUnknownError,
    LimitError,
    NotFoundError,
    SessionStatusError,
    StateConflictError,
)
from varvite.exchange import watching
from varvite.experiment.session import EXPERIMENT, Metric
from varvite.session.rebuild import rebuild


def config(name="S", direction="lower", **more):
    entry = {"type": "config", "name": name, "metricName": "ms", "metricUnit": "ms"}
    return json.dumps(entry | {"bestDirection": direction} | more)


def run(number, metric, status="keep"):
    entry = {"run": number, "commit": "abc1234", "metric": metric, "metrics": {"a": 1}}
    entry |= {"status": status, "description": f"d{number}", "timestamp": 1778130944734}
    return json.dumps(entry | {"segment": 0, "confidence": None})


LOG = [
    config(),
    run(1, 10),
    run(2, 12, "discard"),
    '{"type":"hook","stage":"before","exit_code":0}',
    run(3, 8),
    "",
    "{torn",
    config("T", "higher"),
    run(3, 1),
    run(4, 0, "crash"),
    run(5, 3),
]


@pytest.fixture
def log(tmp_path):
    """Writes the lines of a log; returns it as a session follows it."""

    def write(lines, end="\n", name="log.jsonl", **options):
        (tmp_path / name).write_bytes(("\n".join(lines) + end).encode())
        return PiLog(tmp_path / name, **options)

    return write


def stored(tmp_path, stream="records", session="sort-speed"):
    text = (tmp_path / session / f"{stream}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def facts(session):
    """What counts, without the numbers that depend on how many imports there were."""
    state = session.state()
    segments = [session.segment(number) for number in range(1, state.segment + 1)]
    return (
        state.segment,
        state.runs,
        state.statuses,
        state.definition,
        [(s.runs, s.definition, s.baseline and s.baseline.ordinal) for s in segments],
        [(s.best and s.best.ordinal, s.best and s.best.metric) for s in segments],
        [(run.ordinal, run.segment, run.run_logged) for run in session.kept()],
    )


def test_importing_reports_what_was_read_kept_aside_and_defaulted(open_session, log, tmp_path):
    session = open_session()
    lines = [*LOG, '{"run":6}', '{"run":7,"met']

    report = session.import_log(log(lines, end=""))

    assert (report.lines, report.imported, report.generation) == (12, 10, 1)
    assert report.quarantined == [(7, "malformed", "kept")]
    assert [(entry.line, entry.name) for entry in report.defaulted] == [
        (12, name) for name in ("metric", "status", "metrics", "commit", "description", "timestamp")
    ]
    assert report.unfinished == len('{"run":7,"met')
    assert report.cursor == session.cursor == 1 + 10 + 1
    kept = stored(tmp_path, "quarantine")[0]
    assert (kept["raw"], kept["source"], kept["source_line"]) == ("{torn", "log.jsonl", 7)


def test_importing_again_adds_nothing(open_session, log):
    session = open_session()
    session.import_log(log(LOG))
    before = (session.cursor, facts(session))

    report = session.import_log(log(LOG))

    assert (session.cursor, facts(session)) == before
    assert (report.lines, report.imported, report.rewritten) == (0, 0, False)


@pytest.mark.parametrize("cut", range(len(LOG) + 1))
def test_a_log_that_grew_imports_only_its_new_lines(open_session, log, tmp_path, cut):
    whole, grown = open_session("whole"), open_session("grown")
    whole.import_log(log(LOG))
    first = grown.import_log(log(LOG[:cut], end="\n" if cut else ""))

    second = grown.import_log(log(LOG))

    assert facts(grown) == facts(whole)
    assert (first.lines, second.lines) == (cut, len(LOG) - cut)
    assert second.generation == 1
    assert lines_of(tmp_path, "grown") == lines_of(tmp_path, "whole")


def lines_of(tmp_path, session):
    return [
        [(record["source_line"], record["raw"]) for record in stored(tmp_path, stream, session)]
        for stream in ("records", "quarantine")
    ]


def test_a_line_cut_at_any_byte_waits_for_its_newline(open_session, log):
    whole, grown = open_session("whole"), open_session("grown")
    text = "\n".join(LOG) + "\n"
    whole.import_log(log([text], end=""))

    for end in range(len(text) + 1):
        report = grown.import_log(log([text[:end]], end=""))
        assert report.unfinished == end - (text.rfind("\n", 0, end) + 1)

    assert facts(grown) == facts(whole)


@pytest.mark.parametrize(
    "rewritten",
    [
        LOG[:5],
        [LOG[0], run(1, 11), *LOG[2:]],
        LOG[1:],
        [LOG[0], *LOG[7:]],
        [config("S", "higher"), *LOG[1:]],
        [],
    ],
    ids=["tail lost", "edited", "head lost", "middle lost", "other direction", "emptied"],
)
def test_a_rewritten_log_counts_as_if_it_had_been_imported_alone(open_session, log, rewritten):
    alone, session = open_session("alone"), open_session("followed")
    for one in (alone, session):
        one.start(Metric("total_ms", "ms", "maximize"), name="declared")
    session.import_log(log(LOG))
    segments, ordinals = session.state().segment, session.state().ordinal

    text = rewritten and [*rewritten, run(9, 2)]
    report = session.import_log(log(text, end="\n" if text else ""))
    alone.import_log(log(text, end="\n" if text else ""))

    assert (report.rewritten, report.generation) == (True, 2)
    assert session.import_log(log(text, end="\n" if text else "")).imported == 0
    assert shifted(session, segments, ordinals) == shifted(alone, 0, 0)


def shifted(session, segments, ordinals):
    state = session.state()
    numbers = range(segments + 1, state.segment + 1)
    found = [session.segment(number) for number in numbers]
    best = [s and s.best and (s.best.ordinal - ordinals, s.best.metric) for s in found]
    kept = [(run.segment - segments, run.ordinal - ordinals) for run in session.kept()]
    return state.runs, state.statuses, state.kept, state.definition, best, kept


def test_a_new_generation_says_what_it_measures_though_the_log_does_not(
    open_session, log, tmp_path
):
    session = open_session()
    session.start(Metric("total_ms", "ms", "maximize"))
    session.import_log(log([run(1, 10), run(2, 12)]))

    session.import_log(log([run(1, 11)]))
    session.import_log(log([], end=""))

    configs = [record for record in stored(tmp_path) if record["type"] == "config"]
    assert [
        (c["segment"], c["metric_name"], c["direction"], c.get("generation")) for c in configs
    ] == [
        (1, "total_ms", "maximize", None),
        (2, "total_ms", "maximize", 2),
        (3, "total_ms", "maximize", 3),
    ]


def test_the_runs_of_an_earlier_generation_stay_in_the_history(open_session, log, tmp_path):
    session = open_session()
    session.import_log(log(LOG))

    session.import_log(log(LOG[:5]))

    records = stored(tmp_path)
    assert [record["generation"] for record in records] == [1] * 9 + [2] * 6
    assert [record["source_line"] for record in records[9:]] == [None, 1, 2, 3, 4, 5]
    assert len({record["id"] for record in records}) == len(records)
    assert all(record["rev"] == 0 for record in records)


def test_a_log_that_grew_in_steps_and_was_rewritten_counts_anew(open_session, log):
    session = open_session()
    for cut in (3, 6, len(LOG)):
        session.import_log(log(LOG[:cut]))

    report = session.import_log(log(LOG[:3]))

    assert (report.generation, report.lines, session.state().runs) == (2, 3, 2)
    assert [run.ordinal for run in session.kept()] == [7]


def test_a_long_line_that_cannot_be_read_is_kept_in_parts_of_their_own_id(
    open_session, log, tmp_path
):
    session = open_session()
    line = "x" * 1_000_000

    report = session.import_log(log([config(), line, run(1, 2)]))

    parts = stored(tmp_path, "quarantine")
    assert len({part["id"] for part in parts}) == len(parts) == 4
    assert b"".join(base64.b64decode(part["raw"]) for part in parts) == line.encode()
    assert report.quarantined == [(2, "malformed", "kept")]
    assert len(report.reasons) == 1
    assert session.best().metric == 2


def test_a_rebuilt_index_is_the_one_that_grew(open_session, log, tmp_path):
    session = open_session()
    session.start(Metric("total_ms"))
    session.import_log(log(LOG))
    session.import_log(log(LOG[1:]))
    session.transition("finalizing")
    grown, wanted = dict(session._writer.index.items()), facts(session)
    session._writer.close()
    with Folder(Files(), str(tmp_path)) as store:
        rebuild(store, "sort-speed", EXPERIMENT)

    session = open_session()

    assert dict(session._writer.index.items()) == grown
    assert facts(session) == wanted


def test_a_rewritten_log_is_refused_where_other_runs_count(open_session, log):
    session = open_session()
    session.import_log(log(LOG))
    session.append_record({"type": "run", "status": "keep", "metric": 1})
    before = (session.cursor, facts(session))

    with pytest.raises(StateConflictError, match="1 other runs count"):
        session.import_log(log(LOG[1:]))

    assert (session.cursor, facts(session)) == before


def test_two_logs_in_one_session_have_cursors_of_their_own(open_session, log):
    session = open_session()

    session.import_log(log(LOG, name="a.jsonl"))
    session.import_log(log(LOG, name="b.jsonl"))
    again = [session.import_log(log(LOG, name=name)) for name in ("a.jsonl", "b.jsonl")]

    assert [report.lines for report in again] == [0, 0]
    assert session.state().runs == 12
    assert session.state().segment == 4


def test_a_log_that_moved_is_the_same_log_under_the_same_source(open_session, log):
    session = open_session()
    session.import_log(log(LOG[:4], name="autoresearch.jsonl", source="pi"))

    report = session.import_log(log(LOG, name="log.jsonl", source="pi"))

    assert (report.lines, report.generation) == (len(LOG) - 4, 1)


def test_a_session_goes_on_by_itself_after_an_import(open_session, log):
    session = open_session()
    session.import_log(log(LOG))

    session.append_record({"type": "run", "status": "keep", "metric": 7})

    assert (session.best().ordinal, session.best().metric) == (7, 7)
    assert [run.ordinal for run in session.kept()] == [1, 3, 4, 6, 7]


def test_a_done_session_takes_no_new_lines_and_lets_an_unchanged_log_be(open_session, log):
    session = open_session()
    session.import_log(log(LOG[:3]))
    session.transition("archived")

    unchanged = session.import_log(log(LOG[:3]))
    with pytest.raises(SessionStatusError):
        session.import_log(log(LOG))

    assert unchanged.imported == 0
    assert session.state().runs == 2


def test_an_import_that_is_cut_short_goes_on_where_it_stopped(open_session, log, monkeypatch):
    whole, session = open_session("whole"), open_session("cut")
    whole.import_log(log(LOG))
    monkeypatch.setattr(pi_log, "BATCH_RECORDS", 2)
    appends = []
    append = session._writer.append

    def fail_the_third(*args, **options):
        appends.append(args)
        if len(appends) == 3:
            raise CommitUnknownError("the sync failed")
        return append(*args, **options)

    monkeypatch.setattr(session._writer, "append", fail_the_third)
    with pytest.raises(CommitUnknownError):
        session.import_log(log(LOG))
    monkeypatch.undo()

    report = session.import_log(log(LOG))

    assert report.lines == len(LOG) - 4
    assert facts(session) == facts(whole)


def test_batches_of_any_size_give_the_same_session(open_session, log, monkeypatch):
    wanted = open_session("whole")
    wanted.import_log(log(LOG))

    for size in range(1, len(LOG)):
        monkeypatch.setattr(pi_log, "BATCH_RECORDS", size)
        session = open_session(f"by-{size}")
        report = session.import_log(log(LOG))

        assert (report.lines, report.imported, len(report.quarantined)) == (len(LOG), 9, 1)
        assert facts(session) == facts(wanted)


def test_a_missing_log_and_an_endless_line_are_refused_and_change_nothing(
    open_session, log, tmp_path, monkeypatch
):
    session = open_session()
    endless = log(["x" * (5 << 20)])

    with pytest.raises(NotFoundError) as missing:
        session.import_log(PiLog(tmp_path / "none.jsonl"))
    with pytest.raises(LimitError) as long:
        session.import_log(endless)

    assert missing.value.file == str(tmp_path / "none.jsonl")
    assert (long.value.line, long.value.offset) == (1, 0)
    assert session.cursor == 0


def test_the_lines_before_an_endless_one_are_imported_all_the_same(open_session, log):
    session = open_session()
    lines = [config(), run(1, 5), "x" * (5 << 20)]

    for _ in range(2):
        with pytest.raises(LimitError) as caught:
            session.import_log(log(lines))
        assert (caught.value.file, caught.value.line) == ("log.jsonl", 3)

    assert (session.cursor, session.best().metric) == (3, 5)


def test_importing_again_reads_the_log_once_and_commits_only_what_is_new(
    open_session, log, tmp_path
):
    session, files = open_session(), Files()
    lines = [config(), *(run(number, number) for number in range(1, 500))]
    session.import_log(log(lines))
    size, journal = (tmp_path / "log.jsonl").stat().st_size, tmp_path / "sort-speed/events.ndjson"
    committed = journal.stat().st_size

    report = session.import_log(log([*lines, run(500, 1)], files=files))

    added = (tmp_path / "log.jsonl").stat().st_size - size
    assert (report.lines, report.imported) == (1, 1)
    assert files.io.bytes_read == size + added
    assert journal.stat().st_size - committed < 2_000 < committed


def test_a_watch_that_is_stopped_ends_after_the_batch_under_way(log, tmp_path, monkeypatch):
    monkeypatch.setattr(pi_log, "BATCH_RECORDS", 2)
    store, stop = varvite.open(tmp_path / "store"), Event()

    def stop_at_once(*_):
        stop.set()

    (report,) = watching.follow(store, log(LOG), "e", stop=stop, progress=stop_at_once, create=True)
    rest = watching.follow(store, log(LOG), "e", stop=Event(), until_idle_s=0)

    assert (report.lines, [one.lines for one in rest]) == (2, [len(LOG) - 2])


def test_real_logs_that_grew_in_random_steps_give_the_same_session(shared, open_session, log):
    folder = shared / "data" / "experiments" / "autoresearch"
    chance = random.Random(11)
    for path in sorted(folder.iterdir())[26:30]:
        data = path.read_bytes()
        whole, grown = open_session(f"whole-{path.stem}"), open_session(f"grown-{path.stem}")
        whole.import_log(PiLog(path))
        cuts = sorted(chance.choices(range(len(data)), k=6))

        for end in [*cuts, len(data)]:
            report = grown.import_log(log([data[:end].decode(errors="ignore")], end=""))
            assert report.generation == 1

        assert facts(grown) == facts(whole)
