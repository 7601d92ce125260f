"""The views over experiment runs that people ask for."""

import varvite


def fill(store):
    with store.experiment("s", create=True) as session:
        for status, metrics in [
            ("keep", {"rss_kb": 10, "note": "x"}),
            ("discard", {"rss_kb": 12.5}),
            ("crash", None),
            ("keep", {}),
        ]:
            session.append_record(
                {"type": "run", "status": status, "metric": 1, "metrics": metrics}
            )


def test_the_keep_rate_counts_what_became_of_the_runs(tmp_path):
    store = varvite.open(tmp_path)
    fill(store)

    found = store.sql("select segment, runs, kept, discarded, failed, keep_rate from keep_rate")

    assert found.rows() == [(1, 4, 2, 1, 1, 0.5)]


def test_secondary_metrics_are_a_row_each(tmp_path):
    store = varvite.open(tmp_path)
    fill(store)

    found = store.sql("select ordinal, name, value from secondary_metrics order by all")

    assert found.rows() == [(1, "note", None), (1, "rss_kb", 10.0), (2, "rss_kb", 12.5)]


def test_the_way_to_the_best_is_counted_in_runs(tmp_path):
    store = varvite.open(tmp_path)
    with store.experiment("s", create=True) as session:
        for metric in (9, 5, 7, 5):
            session.append_record({"type": "run", "status": "keep", "metric": metric})

    ((runs, reached, since, seconds),) = store.sql(
        "select runs, runs_to_best, runs_since, seconds from time_to_best"
    ).rows()

    assert (runs, reached, since) == (4, 2, 2)
    assert seconds >= 0
