"""One real research session, read from beside the checkout."""

import json

import pytest

from varvite.graph import payloads
from varvite.session.rebuild import rebuild

FOLDER = "artifacts/lkm-discovery/"


@pytest.fixture(scope="module")
def file(shared):
    return str(shared / "data/gaia/twodheg__lkm_payloads.ndjson")


@pytest.fixture(scope="module")
def given(file):
    return list(payloads.in_file(file))


@pytest.fixture(scope="module")
def logged(shared, given):
    """The responses that the retrieval log names, in its order, with their queries."""
    by_file = {one.file: one for one in given}
    lines = (shared / "data/gaia/twodheg__retrieval_log.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [
        by_file[FOLDER + event["raw_output"]]._replace(query=event["request"].get("text"))
        for event in events
    ]


def figures(graphs, name="s"):
    """Variables with a sighting, variables, papers, failed calls."""
    records = graphs.records(name)
    kinds = [node["node_kind"] for node in graphs.latest("nodes", name).values()]
    seen = {sighting["node_id"] for sighting in records["sightings"]}
    failed = [call for call in records["frontier"] if call["status"] == "failed"]
    return len(seen), kinds.count("variable"), kinds.count("paper"), len(failed)


def without_seq(records):
    dropped = ("seq", "prev_seq", "at")
    return [{name: one[name] for name in one if name not in dropped} for one in records]


def timeless(records):
    return [{name: one[name] for name in one if name != "at"} for one in records]


def unnamed(records):
    """Without the id either, for a stream whose records the session numbers itself."""
    return [{name: one[name] for name in one if name != "id"} for one in without_seq(records)]


def test_all_responses_as_they_lie_there_give_the_known_figures(graphs, file):
    with graphs.new() as session:
        receipts = list(session.submit_file(file))
        status = session.status()

    assert figures(graphs) == (587, 601, 425, 54)
    assert sum(receipt.new for receipt in receipts) == status["new"] == 587
    assert sum(receipt.new + receipt.seen for receipt in receipts) == status["hits"] == 1410
    assert (status["papers"], status["failed"], status["responses"]) == (425, 54, 249)


def test_the_logged_responses_in_log_order_give_the_known_figures(graphs, logged):
    with graphs.new() as session:
        for one in logged:
            session.submit([one])

    calls = graphs.records()["frontier"]
    assert figures(graphs) == (562, 573, 405, 54)
    assert sum(call["hits"] for call in calls) == 1340
    assert [call["item_kind"] for call in calls].count("claim_chain") == 45


def test_the_unlogged_responses_come_after_the_others_in_name_order(graphs, logged, given):
    names = {one.file for one in logged}
    rest = sorted((one for one in given if one.file not in names), key=lambda one: one.file)

    with graphs.new() as session:
        session.submit(logged)
        session.submit(rest)

    assert len(rest) == 16
    assert figures(graphs) == (587, 601, 425, 54)


def test_every_response_comes_back_byte_for_byte(graphs, file):
    with graphs.new() as session:
        list(session.submit_file(file))

    with open(file, "rb") as stream:
        lines = stream.read().splitlines()
    kept = graphs.records()["responses"]
    assert len(kept) == len(lines)
    for line, one in zip(lines, kept, strict=True):
        head = json.dumps({"file": one["file"]})[:-1] + ', "payload": '
        assert line == f"{head}{one['raw']}}}".encode()


def test_submitting_everything_again_adds_no_record(graphs, file):
    with graphs.new() as session:
        list(session.submit_file(file))
        cursor = session.cursor
        again = list(session.submit_file(file))

        assert session.cursor == cursor
    assert sum(receipt.repeated for receipt in again) == 249
    assert {receipt.new + receipt.seen + receipt.failed for receipt in again} == {0}


@pytest.mark.parametrize("responses", [1, 10])
def test_how_the_responses_are_cut_into_batches_changes_no_record(graphs, given, responses):
    with graphs.new("whole") as session:
        session.submit(given)
    with graphs.new("cut") as session:
        for start in range(0, len(given), responses):
            session.submit(given[start : start + responses])

    whole, cut = graphs.records("whole"), graphs.records("cut")
    for stream in ("nodes", "edges", "frontier", "responses"):
        assert without_seq(cut[stream]) == without_seq(whole[stream])
    assert unnamed(cut["sightings"]) == unnamed(whole["sightings"])


def test_stopping_and_resuming_after_any_response_gives_the_same_state(graphs, given):
    with graphs.new("whole") as session:
        for one in given:
            session.submit([one])
        whole = session.status()
    graphs.create("stopped")
    for one in given:
        with graphs.open("stopped") as session:
            session.submit([one])
            stopped = session.status()

    assert stopped | {"session_id": "whole"} == whole
    one, other = graphs.records("whole"), graphs.records("stopped")
    for stream in ("nodes", "edges", "frontier", "responses", "sightings", "events"):
        assert timeless(other[stream]) == timeless(one[stream])


def test_a_retry_names_the_failed_call_that_it_repeats(graphs, file):
    with graphs.new() as session:
        list(session.submit_file(file))

    calls = graphs.latest("frontier")
    retries = [call for call in calls.values() if "retry_of" in call]
    assert len(retries) == 23
    for call in retries:
        first = calls[call["retry_of"]]
        assert first["status"] == "failed"
        assert first["dedup_key"] == call["dedup_key"]
        assert (first["attempt"], call["attempt"]) == (1, 2)


def test_every_edge_joins_nodes_and_no_two_say_the_same(graphs, file):
    with graphs.new() as session:
        list(session.submit_file(file))

    nodes = graphs.latest("nodes")
    edges = graphs.records()["edges"]
    ways = {
        (edge["edge_kind"], nodes[edge["src"]]["node_kind"], nodes[edge["dst"]]["node_kind"])
        for edge in edges
    }
    assert ways == {
        ("in_paper", "variable", "paper"),
        ("in_paper", "factor", "paper"),
        ("premise_of", "variable", "factor"),
        ("concludes", "factor", "variable"),
    }
    assert len({(edge["edge_kind"], edge["src"], edge["dst"]) for edge in edges}) == len(edges)


def test_a_rebuild_makes_the_same_index(graphs, file):
    with graphs.new() as session:
        list(session.submit_file(file))
        kept = dict(session._writer.index.items())

    rebuild(graphs.store, "s", session._writer.kind)

    with graphs.open() as session:
        assert dict(session._writer.index.items()) == kept


def test_the_small_fixture_names_its_papers_inside_the_hits(graphs, shared):
    file = str(shared / "data/gaia/lkm_search_free_fall.json")

    with graphs.new() as session:
        (receipt,) = session.submit_file(file, query="free fall")

    with open(file, "rb") as stream:
        assert graphs.records()["responses"][0]["raw"].encode() == stream.read().strip()
    papers = [node for node in graphs.latest("nodes").values() if node["node_kind"] == "paper"]
    assert receipt.new == len(papers) == 5
    assert sum("title" in paper for paper in papers) == 4
