"""Communities of one real session, held against its buckets and against a reader's."""

import json
from collections import Counter
from pathlib import Path

import pytest

import varvite
from varvite.graph import payloads

FOLDER = "artifacts/lkm-discovery/"
BY_HAND = json.loads((Path(__file__).parents[1] / "graph" / "by_hand.json").read_text())
NEAREST = """
select node_id, bucket_id from memberships where state = 'assigned'
qualify row_number() over (partition by node_id order by score desc, bucket_id) = 1
"""


@pytest.fixture(scope="module")
def replayed(shared, tmp_path_factory):
    """The session in the order of its log, with the buckets that were written by hand."""
    folder = shared / "data/gaia"
    by_file = {one.file: one for one in payloads.in_file(folder / "twodheg__lkm_payloads.ndjson")}
    lines = (folder / "twodheg__retrieval_log.jsonl").read_text().splitlines()
    given = [
        by_file.pop(FOLDER + event["raw_output"])._replace(query=event["request"].get("text"))
        for event in map(json.loads, lines)
    ]
    given += [by_file[name] for name in sorted(by_file)]
    store = varvite.open(tmp_path_factory.mktemp("real"))
    with store.graph("s", create=True, level="fast") as session:
        for name, terms in BY_HAND["buckets"].items():
            session.open_bucket(name, terms=terms, bucket_id=name)
        for start in range(0, len(given), 5):
            session.submit(given[start : start + 5])
    return store


def run(store, **parameters):
    (ran,) = store.checkpoint("recluster", "s", parameters=parameters)
    return ran


def adjusted_rand(one, other):
    keys = one.keys() & other.keys()

    def pairs(counted):
        return sum(n * (n - 1) // 2 for n in counted.values())

    both = pairs(Counter((one[key], other[key]) for key in keys))
    first, second = (pairs(Counter(each[key] for key in keys)) for each in (one, other))
    expected = first * second / (len(keys) * (len(keys) - 1) // 2)
    return (both - expected) / ((first + second) / 2 - expected)


@pytest.mark.extras
def test_communities_agree_with_buckets_and_a_reader_as_the_documentation_says(
    replayed, record_property
):
    table = run(replayed, method="leiden").answers.table("communities")
    found = dict(zip(table["node_id"].to_pylist(), table["community"].to_pylist(), strict=True))
    nearest = dict(replayed.sql(NEAREST).rows())
    by_hand = {
        node: chosen[0]
        for part in ("tuned_on", "held_out")
        for node, chosen in BY_HAND[part].items()
        if chosen
    }

    indexes = {
        "buckets": adjusted_rand(found, nearest),
        "reader": adjusted_rand(found, by_hand),
        "buckets and reader": adjusted_rand(nearest, by_hand),
    }

    record_property("adjusted_rand", indexes)
    assert {name: round(value, 1) for name, value in indexes.items()} == {
        "buckets": 0.3,
        "reader": 0.3,
        "buckets and reader": 0.6,
    }


def test_nearly_all_of_it_is_one_component_which_says_nothing_of_buckets(replayed):
    ran = run(replayed, method="components")

    results = ran.receipt.results
    assert (results["variables"], results["communities"]) == (601, 2)
    assert (results["merges"], results["splits"]) == (0, 0)


def test_every_ambiguous_node_has_a_place(replayed):
    ran = run(replayed)

    placed = ran.answers.table("placements").to_pylist()
    ambiguous = [row for row in placed if row["state"] == "ambiguous"]
    assert (len(placed), len(ambiguous)) == (222, 168)
    assert all(row["bucket_id"] for row in ambiguous)
