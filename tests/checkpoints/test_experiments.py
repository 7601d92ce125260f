"""The checkpoint `experiments`: what all experiment sessions together say."""

from collections import defaultdict
from itertools import pairwise
from random import Random

import pytest

import varvite
from varvite.adapters.pi_log import PiLog
from varvite.experiment import ideas
from varvite.experiment.ideas import Idea
from varvite.experiment.session import Metric
from varvite.samples import words
from varvite.testing import mixed

WORDS = (
    "merge",
    "Sort",
    "halves",
    "skip",
    "tail",
    "the",
    "cache",
    "swap",
    "é",
    "n_1",
    "loop",
    "inner",
)
STATUSES = ("keep", "keep", "discard", "discard", "crash", "checks_failed", "pending", "confirm")
FAILED = {"discard", "crash", "checks_failed", "errored"}


def run_of(status, description, metric=1.0, change=None):
    payload = {"payload": {"change": change}} if change else {}
    made = {"type": "run", "status": status, "metric": metric, "description": description}
    return made | payload


def fill(store, seed, sessions=6, runs=25):
    """Sessions that try the same few ideas and changes, on two benchmarks, in two segments."""
    rng = Random(seed)
    for number in range(sessions):
        told = {"benchmark_hash": f"b{number % 2}", "environment": "e"} if number < 4 else {}
        direction = rng.choice(("minimize", "maximize"))
        with store.experiment(f"s{number}", create=True, level="fast") as session:
            session.start(Metric("m", "", direction), **told)
            for at in range(runs):
                if at == runs // 3:
                    session.start(Metric("m", "", "minimize"))
                words = rng.sample(WORDS, rng.choice((2, 5, 6, 6, 7)))
                metric = rng.choice([None, *(rng.randrange(40) for _ in range(5))])
                change = rng.choice([None, None, *(f"change{n}" for n in range(12))])
                session.append_record(run_of(rng.choice(STATUSES), " ".join(words), metric, change))
    return store


def found(store, **options):
    (ran,) = store.checkpoint("experiments", **options)
    return ran


def table(ran, name):
    return ran.answers.table(name).to_pylist()


def all_runs(store):
    """The runs that count, by session, as ideas and with what else is asked of them."""
    made = defaultdict(list)
    for row in store.sql("from runs join ideas using (session_id, id) order by session_id, runs.seq").dicts():  # fmt: skip
        names = ("id", "ordinal", "status", "metric", "description")
        one = Idea(**{name: row[name] for name in names}, change=row["change"])
        made[row["session_id"]].append((one, row))
    return made


def plain_dead_ends(runs):
    return [
        (session, one.run.id, one.run.status, one.alike_in, one.likeness, one.of.id, one.of.status)
        for session in sorted(runs)
        for one in ideas.dead_ends([idea for idea, _ in runs[session]])
    ]


def plain_rates(runs):
    made = {}
    for session, own in runs.items():
        statuses = [idea.status for idea, _ in own]
        kept, count = statuses.count("keep"), len(statuses)
        failed = sum(statuses.count(one) for one in FAILED - {"discard"})
        segments = defaultdict(list)
        for _, row in own:
            segments[row["segment"]].append(row)
        stretches = {segment: plateaus(rows) for segment, rows in segments.items()}
        longest = [length for each in stretches.values() for length, _ in each]
        made[session] = {
            "session_id": session,
            "segments": len(segments),
            "runs": count,
            "kept": kept,
            "discarded": statuses.count("discard"),
            "failed": failed,
            "keep_rate": kept / count,
            "plateaus": len(longest),
            "longest_plateau": max(longest, default=0),
            "stuck": any(goes_on for _, goes_on in stretches[max(segments)]),
        }
    return made


def plateaus(rows):
    """Lengths of the stretches without a new best, and whether each reaches the end."""
    best, marks = None, [-1]
    for at, row in enumerate(rows):
        if row["status"] == "keep" and row["metric"] is not None:
            cost = -row["metric"] if row["direction"] == "maximize" else row["metric"]
            if best is None or cost < best:
                best = cost
                marks.append(at)
    marks.append(len(rows))
    lengths = [(end - start - 1, end == len(rows)) for start, end in pairwise(marks)]
    return [one for one in lengths if one[0] >= 10]


def words_of(idea):
    return " ".join(sorted(idea.words)) or None


def plain_tries(runs):
    """Every key that was tried: the runs that tried it, in the order of sessions and runs."""
    by = defaultdict(list)
    sets = {}
    for session in sorted(runs):
        for idea, row in runs[session]:
            if idea.change:
                by["change", idea.change, idea.change, 1.0].append((session, idea, row))
            if idea.words:
                sets.setdefault(words_of(idea), []).append((session, idea, row))
    texts = sorted(sets)
    split = {text: frozenset(text.split(" ")) for text in texts}
    for at, one in enumerate(texts):
        by["description", one, one, 1.0] = sets[one]
        for other in texts[at + 1 :]:
            common = len(split[one] & split[other])
            union = len(split[one]) + len(split[other]) - common
            if 5 * common >= 4 * union:
                key = ("description", one, other, common / union)
                by[key] = sorted(
                    sets[one] + sets[other], key=lambda each: (each[0], each[2]["seq"])
                )
    return by


def plain_near_duplicates(tries):
    made = []
    for key, own in sorted(tries.items()):
        statuses = [idea.status for _, idea, _ in own]
        failed = sum(one in FAILED for one in statuses)
        sessions = len({session for session, _, _ in own})
        if len(own) > 1:
            made.append((*key, sessions, len(own), statuses.count("keep"), failed))
    return made


def plain_disagreements(tries, hardware):
    made = []
    for key, own in sorted(tries.items()):
        last = {
            session: (idea, row)
            for session, idea, row in own
            if idea.status == "keep" or idea.status in FAILED
        }
        kept = sorted(one for one, (idea, _) in last.items() if idea.status == "keep")
        failed = sorted(set(last) - set(kept))
        if not (kept and failed):
            continue
        places = [
            {hardware.get((session, last[session][1]["segment"])) for session in side} - {None}
            for side in (kept, failed)
        ]
        one, other = last[kept[0]][0], last[failed[0]][0]
        comparable = bool(places[0] & places[1])
        of_one = (one.id, one.metric)
        of_other = (other.id, other.status, other.metric)
        made.append((*key, kept, failed, comparable, *of_one, *of_other, one.description))
    return made


def of_segments(store):
    """What each comparable segment was measured with."""
    rows = store.sql("from comparable_sessions").dicts()
    names = ("benchmark_hash", "environment", "metric_name", "metric_unit", "direction")
    return {(row["session_id"], row["segment"]): tuple(row[name] for name in names) for row in rows}


def check(store, ran):
    runs = all_runs(store)
    tries = plain_tries(runs)
    names = ("session_id", "id", "status", "alike_in", "likeness", "of_id", "of_status")
    dead = [tuple(row[name] for name in names) for row in table(ran, "dead_end_runs")]
    alike = [tuple(row.values())[:8] for row in table(ran, "near_duplicates")]
    opposed = [tuple(row.values()) for row in table(ran, "disagreements")]
    assert dead == plain_dead_ends(runs)
    assert {row["session_id"]: row for row in table(ran, "keep_rates")} == plain_rates(runs)
    assert alike == plain_near_duplicates(tries)
    assert opposed == plain_disagreements(tries, of_segments(store))
    assert ran.receipt.results["runs"] == sum(map(len, runs.values()))
    return dead, alike, opposed


@pytest.mark.parametrize("seed", range(3))
def test_all_tables_are_those_of_the_plain_way(tmp_path, seed):
    store = fill(varvite.open(tmp_path / "store"), seed)
    if seed:
        store.compact()

    dead, alike, opposed = check(store, found(store))

    assert len(dead) > 10
    assert {row[0] for row in alike} == {row[0] for row in opposed} == {"change", "description"}
    assert {row[6] for row in opposed} == {True, False}
    assert any(row[1] != row[2] for row in opposed)
    assert max(row["longest_plateau"] for row in table(found(store), "keep_rates")) >= 10


@pytest.mark.parametrize(
    ("every", "retried", "shared_ideas"),
    [(5, 3, 0), pytest.param(1, 20, 47, marks=pytest.mark.slow)],
)
def test_all_tables_of_the_real_logs_are_those_of_the_plain_way(
    shared, tmp_path, every, retried, shared_ideas
):
    store = varvite.open(tmp_path / "store")
    files = sorted((shared / "data/experiments/autoresearch").glob("*.jsonl"))
    for file in files[::every]:
        name = file.stem.lower().replace(".", "-")
        with store.experiment(name, create=True, level="fast") as session:
            session.import_log(PiLog(file))
    store.compact()

    dead, alike, opposed = check(store, found(store))

    assert len(dead) == retried
    assert sum(row[4] > 1 for row in alike) == shared_ideas  # two logs have runs in common
    assert opposed == []


def pair(store, one, other, **told):
    for name, runs in (("a", one), ("b", other)):
        with store.experiment(name, create=True, level="fast") as session:
            session.start(Metric("m"), **told.get(name, {}))
            for run in runs:
                session.append_record(run)
    return table(found(store), "disagreements")


SAME = {"benchmark_hash": "x", "environment": "e"}


@pytest.mark.parametrize(
    ("a", "b", "comparable"),
    [(SAME, SAME, True), (SAME, SAME | {"environment": "f"}, False), (SAME, {}, False), ({}, {}, False)],
)  # fmt: skip
def test_one_session_kept_what_another_discarded(tmp_path, a, b, comparable):
    store = varvite.open(tmp_path / "store")

    (row,) = pair(
        store,
        [run_of("keep", "unroll", 2.0, "c1")],
        [run_of("discard", "another name", 3.0, "c1")],
        a=a,
        b=b,
    )

    assert (row["kept_in"], row["failed_in"], row["comparable"]) == (["a"], ["b"], comparable)
    assert (row["kept_metric"], row["failed_metric"], row["failed_status"]) == (2.0, 3.0, "discard")
    assert (row["idea"], row["description"]) == ("c1", "unroll")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("keep", "c1")], [("keep", "c1")]),
        ([("keep", "c1")], [("discard", "c2")]),
        ([("keep", "c1"), ("discard", "c1")], [("discard", "c1")]),
        ([("keep", "c1")], [("discard", "c1"), ("keep", "c1")]),
        ([("keep", "c1"), ("discard", "c2")], []),
        ([("keep", "c1")], [("pending", "c1"), ("confirm", "c1")]),
    ],
)
def test_sessions_that_ended_alike_do_not_disagree(tmp_path, one, other):
    store = varvite.open(tmp_path / "store")

    rows = pair(
        store,
        [run_of(status, "a b", 1.0, change) for status, change in one],
        [run_of(status, "c d", 1.0, change) for status, change in other],
    )

    assert rows == []


def test_keys_that_too_many_ideas_share_are_reported_and_not_compared(tmp_path):
    store = varvite.open(tmp_path / "store")
    with store.experiment("s", create=True, level="fast") as session:
        session.append_records([run_of("keep", f"one two three four number{n}") for n in range(30)])

    ran = found(store, parameters={"most": 2})

    assert sum(row["ideas"] for row in table(ran, "hot_keys")) == 30
    assert {row["example"][:8] for row in table(ran, "hot_keys")} == {"four num"}
    assert ran.receipt.results["compared"] == ran.receipt.results["idea_pairs"] == 0
    assert found(store, parameters={"most": 30}).receipt.results["hot_keys"] == 0


@pytest.mark.parametrize("runs", [500, 2000])
def test_few_ideas_are_compared_and_all_that_are_alike_found(tmp_path, runs):
    rng = Random(runs)
    store = varvite.open(tmp_path / "store")
    texts = [words.sentence(rng) for _ in range(runs)]
    made = {text: frozenset(ideas.words(text)) for text in texts}
    planted = {frozenset((one, one - {max(one)})) for one in made.values() if len(one) >= 5}
    shortened = [" ".join(min(pair, key=len)) for pair in planted]
    with store.experiment("s", create=True, level="fast") as session:
        session.append_records([run_of("keep", text) for text in texts + shortened])

    ran = found(store)

    alike = [(row["idea"], row["other"], row["likeness"]) for row in table(ran, "near_duplicates")]
    pairs = {frozenset((frozenset(one.split()), frozenset(other.split()))): likeness
             for one, other, likeness in alike if one != other}  # fmt: skip
    assert planted <= pairs.keys()
    assert all(likeness == float(ideas.likeness(*pair)) for pair, likeness in pairs.items())
    assert min(pairs.values()) >= 0.8
    assert ran.receipt.results["compared"] - len(pairs) < runs / 2


def test_of_graph_sessions_and_empty_ones_it_says_nothing(tmp_path):
    store = varvite.open(tmp_path / "store")
    store.graph("g", create=True).close()
    store.experiment("e", create=True).close()

    ran = found(store)

    assert ran.receipt.cursors.keys() == {"e"}
    assert {name: one.rows for name, one in ran.receipt.tables.items()} == dict.fromkeys(
        ("keep_rates", "dead_end_runs", "hot_keys", "tries", "near_duplicates", "disagreements"), 0
    )


def test_odd_records_are_no_trouble(tmp_path):
    store = varvite.open(tmp_path / "store")
    mixed.fill(store)

    check(store, found(store))


def test_one_more_run_anywhere_makes_another_run_of_it(tmp_path):
    store = fill(varvite.open(tmp_path / "store"), 1, sessions=2, runs=3)
    first = found(store)
    with store.experiment("s1") as session:
        session.append_record(run_of("keep", "one more"))

    again = found(store)

    assert found(store).state == "replayed"
    assert again.state == "ran"
    assert again.receipt.results["runs"] == first.receipt.results["runs"] + 1
