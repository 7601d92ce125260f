"""The named questions, each against what a plain reading of the journal says."""

from collections import Counter
from pathlib import Path

import pytest

from varvite.query import statements


@pytest.fixture(scope="module")
def streams(layered, journal):
    """Latest records by stream and id, of one session."""

    def read(session_id):
        found = {}
        for _, records in journal(layered, session_id):
            for record in records:
                found.setdefault(record["stream"], {})[record["id"]] = record
        return found

    return read


def only(store, name, session_id, **params):
    return [row for row in store.sql(name, params).dicts() if row["session_id"] == session_id]


def test_every_query_is_asked_by_a_test():
    tests = "".join(file.read_text() for file in Path(__file__).parents[1].rglob("test_*.py"))

    for name in statements.queries():
        assert f"test_{name}" in tests or f'"{name}"' in tests, name


def test_session_summary_counts_what_each_session_holds(layered, streams, journal):
    rows = {row["session_id"]: row for row in layered.sql("session_summary").dicts()}

    assert sorted(rows) == ["followed", "nothing", "odd", "search", "speed", "tuning"]
    assert (rows["nothing"]["records"], rows["nothing"]["first_at"]) == (0, None)
    search, row = streams("search"), rows["search"]
    assert row["records"] == row["cursor"] == journal(layered, "search")[-1][0]
    assert (row["nodes"], row["edges"]) == (len(search["nodes"]), len(search["edges"]))
    calls = [call["status"] for call in search["frontier"].values()]
    assert (row["calls"], row["failed_calls"]) == (len(calls), calls.count("failed"))
    assert rows["odd"]["nodes"] == 4
    with layered.experiment("followed") as session:
        state = session.state()
    assert (rows["followed"]["runs"], rows["followed"]["kept_runs"]) == (state.runs, state.kept)
    assert rows["speed"]["status"] == "finalized"


def test_kept_runs_are_those_of_the_index_with_their_gain(layered):
    rows = only(layered, "kept_runs", "speed")

    with layered.experiment("speed") as session:
        kept = session.kept()
        best = {session.best(number).id for number in (1, 2)}
    assert [row["id"] for row in rows] == [run.id for run in kept]
    assert {row["id"] for row in rows if row["is_best"]} == best
    gains = [(row["metric"], row["baseline_metric"], row["gain"]) for row in rows]
    assert gains[:2] == [(10, 10, 0), (9.5, 10, 0.5)]
    assert gains[-1] == (1e300, 5, 1e300)


def test_best_so_far_ends_at_the_best_of_each_segment(layered):
    rows = only(layered, "best_so_far", "speed")

    assert [row["best_metric"] for row in rows[:7]] == [10, 9.5, 9.5, 9.5, 9.5, 9.5, 9.5]
    assert [row["best_metric"] for row in rows[-3:]] == [None, 1e300, 1e300]
    ends = {(row["session_id"], row["segment"]): row["best_metric"] for row in rows}
    best = layered.sql("select session_id, segment, best_metric from best_runs").rows()
    assert ends == {(name, segment): metric for name, segment, metric in best if name == "speed"}


def test_failed_calls_name_the_retry_that_settled_them(layered, streams):
    rows = only(layered, "failed_calls", "search")

    calls = streams("search")["frontier"]
    failed = [call for call in calls.values() if call["status"] == "failed"]
    assert [row["id"] for row in rows] == [call["id"] for call in failed]
    retried = {call["retry_of"]: call["id"] for call in calls.values() if call.get("retry_of")}
    assert {row["id"]: row["settled_by"] for row in rows if row["settled_by"]} == retried
    assert {row["code"] for row in rows} == {290001}


def test_most_seen_counts_sightings(layered, streams):
    rows = only(layered, "most_seen", "search", top=1000)

    seen = Counter(one["node_id"] for one in streams("search")["sightings"].values())
    assert {row["node_id"]: row["sightings"] for row in rows} == seen
    assert [row["sightings"] for row in rows] == sorted(seen.values(), reverse=True)


def test_paper_coverage_counts_what_lies_in_each_paper(layered, streams):
    rows = only(layered, "paper_coverage", "search", top=1000)

    found = streams("search")
    kinds = {node["id"]: node["node_kind"] for node in found["nodes"].values()}
    inside = Counter(
        (edge["dst"], kinds[edge["src"]])
        for edge in found["edges"].values()
        if edge["edge_kind"] == "in_paper"
    )
    assert sorted(row["paper_id"] for row in rows) == sorted(
        name for name, kind in kinds.items() if kind == "paper"
    )
    for row in rows:
        assert row["variables"] == inside[row["paper_id"], "variable"]
        assert row["factors"] == inside[row["paper_id"], "factor"]
    placed = {edge["src"] for edge in found["edges"].values() if edge["edge_kind"] == "in_paper"}
    assert sum(row["sightings"] for row in rows) == sum(
        one["node_id"] in placed for one in found["sightings"].values()
    )


def test_growth_by_batch_adds_up_to_the_session(layered, streams):
    rows = only(layered, "growth_by_batch", "search")

    found = streams("search")
    assert rows[-1]["all_new"] == len({one["node_id"] for one in found["sightings"].values()})
    assert rows[-1]["all_papers"] == sum(
        node["node_kind"] == "paper" for node in found["nodes"].values()
    )
    assert sum(row["hits"] for row in rows) == len(found["sightings"])
    assert [row["seq"] for row in rows] == [
        event["seq"] for event in found["events"].values() if event["type"] == "batch.submitted"
    ]


def test_new_by_query_adds_up_to_what_was_asked(layered, streams):
    rows = only(layered, "new_by_query", "search")

    calls = [
        call for call in streams("search")["frontier"].values() if "text" in call.get("request", {})
    ]
    assert {row["query"]: row["calls"] for row in rows} == Counter(
        call["request"]["text"] for call in calls
    )
    assert sum(row["new_nodes"] for row in rows) == sum(
        call.get("new_nodes") or 0 for call in calls
    )
    assert sum(row["failed"] for row in rows) == [call["status"] for call in calls].count("failed")


def test_candidate_funnel_counts_the_drafts_and_what_became_of_them(layered, streams):
    (row,) = only(layered, "candidate_funnel", "search")

    found = streams("search")
    taken = list(found["candidates"].values())
    drafts = [draft["status"] for draft in found["repair_contexts"].values()]
    assert row["candidates"] == sum(one["validation"] == "valid" for one in taken) > 0
    assert row["repaired"] == sum(one.get("repairs") is not None for one in taken)
    for status in ("promoted", "demoted", "rejected", "deferred"):
        assert row[status] == sum(one["status"] == status for one in taken)
    assert (row["refused_drafts"], row["under_repair"], row["dropped"]) == (
        len(drafts),
        drafts.count("open"),
        drafts.count("dropped"),
    )


def test_stale_obligations_are_open_and_overdue(layered, streams):
    rows = only(layered, "stale_obligations", "search")

    found = streams("search")
    overdue = {
        name: one["overdue"]
        for name, one in found["obligations"].items()
        if one["status"] == "open" and one.get("overdue")
    }
    assert {row["id"]: row["overdue"] for row in rows} == overdue
    assert len(overdue) > 0
    steps = [event["type"] for event in found["events"].values()].count("batch.submitted")
    opened = {name: one["opened_step"] for name, one in found["obligations"].items()}
    assert all(row["open_steps"] == steps - opened[row["id"]] for row in rows)


@pytest.mark.parametrize("back", [0, 1, 2])
def test_what_changed_since_adds_up_to_the_batches_beyond(layered, journal, back):
    batches = journal(layered, "odd")
    since = [last for last, _ in batches][-1 - back]

    rows = layered.sql("what_changed_since", {"since": since, "session_id": "odd"}).dicts()

    fresh = [one for last, records in batches if last > since for one in records]
    kinds = {}
    for one in fresh:
        kinds.setdefault(one["stream"], {}).setdefault(one["id"], one["rev"])
    assert {row["stream"]: (row["created"], row["revised"]) for row in rows} == {
        stream: (sum(rev == 0 for rev in ids.values()), sum(rev > 0 for rev in ids.values()))
        for stream, ids in kinds.items()
    }
