"""Runs that were tried before, dead ends and overturned discards, against plain Python."""

import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import varvite
from varvite.experiment import ideas
from varvite.experiment.ideas import Idea

WORDS = ("merge", "Sort", "halves", "skip", "tail", "the", "cache", "swap", "é", "n_1")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
SHORT = st.sampled_from([None, "Input is random", "input: IS random!", "it fits", ""])
RUNS = st.tuples(
    st.sampled_from(["keep", "discard", "discard", "crash", "checks_failed", "pending"]),
    TEXTS,
    st.sampled_from([None, None, "c1", "c2"]),
    SHORT,
    SHORT,
)


def record(status, description, change, assumption, overturns):
    asi = {"assumption": assumption, "overturns": overturns}
    told = {"change": change, "asi": {key: value for key, value in asi.items() if value}}
    return {
        "type": "run",
        "status": status,
        "metric": 1.5,
        "description": description,
        "payload": {key: value for key, value in told.items() if value},
    }


def of_sql(store):
    """The runs as ideas, and what the views say of them by ordinals."""
    rows = store.sql("from ideas order by seq").dicts()
    names = ("id", "ordinal", "status", "metric", "description")
    names += ("change", "assumption", "overturns")
    runs = [Idea(**{name: row[name] for name in names}) for row in rows]
    similar = store.sql(
        "select ordinal, of_ordinal, alike_in, likeness from similar_runs order by seq"
    )
    dead = store.sql("select ordinal, of_ordinal from dead_ends order by seq")
    overturned = store.sql(
        "select ordinal, keep_ordinal, overturned_by from overturned_discards order by seq"
    )
    return runs, similar.rows(), dead.rows(), overturned.rows()


def of_python(runs):
    similar = [
        (one.run.ordinal, one.of.ordinal, one.alike_in, one.likeness) for one in ideas.similar(runs)
    ]
    dead = [(one.run.ordinal, one.of.ordinal) for one in ideas.dead_ends(runs)]
    overturned = [
        (one.discard.ordinal, one.keep.ordinal, one.overturned_by) for one in ideas.overturned(runs)
    ]
    return similar, dead, overturned


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(RUNS, min_size=1, max_size=25), st.booleans())
def test_the_views_say_of_any_runs_what_a_comparison_of_every_pair_says(made, compacted):
    with tempfile.TemporaryDirectory() as folder:
        store = varvite.open(folder)
        with store.experiment("s", create=True, level="fast") as session:
            session.append_records([record(*one) for one in made])
        if compacted:
            store.compact()

        runs, *found = of_sql(store)

        assert [run.description for run in runs] == [one[1] for one in made]
        assert tuple(found) == of_python(runs)


def test_the_views_say_of_every_real_log_what_a_comparison_of_every_pair_says(real_logs):
    count = 0

    for name in real_logs.names:
        store = real_logs.alone(name)
        runs, *found = of_sql(store)
        assert tuple(found) == of_python(runs), name
        count += len(found[0])

    assert count >= 60


@pytest.fixture
def told(tmp_path):
    """A store of one session with these runs, and their ids."""

    def tell(*made):
        store = varvite.open(tmp_path)
        with store.experiment("s", create=True) as session:
            for one in made:
                session.append_record(record(*one))
        return store

    return tell


def test_the_same_change_is_a_dead_end_whatever_it_is_called(told):
    store = told(
        ("keep", "Baseline", None, None, None),
        ("discard", "Unroll the loop", "c1", None, None),
        ("discard", "Another name", "c1", None, None),
        ("keep", "Unroll the inner loop", "c2", None, None),
    )

    found = store.sql("select ordinal, of_ordinal, alike_in, of_status from dead_ends")

    assert found.rows() == [(3, 2, "change", "discard")]


def test_what_was_kept_when_it_was_last_tried_is_no_dead_end(told):
    words = "Unroll the inner loop"
    store = told(
        ("discard", words, None, None, None),
        ("keep", words, None, None, None),
        ("crash", words, None, None, None),
    )

    assert store.sql("select ordinal, of_ordinal from dead_ends order by seq").rows() == [(2, 1)]


def test_a_discard_is_overturned_by_a_keep_that_names_its_assumption_or_its_id(told):
    store = told(
        ("discard", "One", None, "Input is random", None),
        ("discard", "Two", None, None, None),
        ("keep", "Three", None, None, "input is RANDOM."),
    )
    second = store.sql("select id from runs where ordinal = 2").rows()[0][0]
    with store.experiment("s") as session:
        session.append_record(record("keep", "Four", None, None, second))

    found = store.sql(
        "select ordinal, overturned_by, keep_ordinal from overturned_discards order by seq"
    )

    assert found.rows() == [(1, "assumption", 3), (2, "assumption", 4)]


def test_ideas_of_two_words_and_of_other_sessions_are_not_alike(tmp_path):
    store = varvite.open(tmp_path)
    for name in ("one", "two"):
        with store.experiment(name, create=True) as session:
            session.append_record(record("discard", "Swap less often", None, None, None))
            session.append_record(record("discard", "Swap less", None, None, None))
            session.append_record(record("discard", "swap less", None, None, None))

    assert store.sql("from similar_runs").rows() == []
