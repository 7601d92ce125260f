"""The field map of one real session, with buckets made by hand, against SQL and against a reader.

by_hand.json has the buckets, and for 215 hits, drawn by a hash of their ids, the buckets
that someone who read them put them in: the best first, none for what is beside the field.
The thresholds were chosen on the first 150; the others were read before they were asked.
"""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

import varvite
from varvite.graph import payloads

FOLDER = "artifacts/lkm-discovery/"
BY_HAND = json.loads((Path(__file__).parent / "by_hand.json").read_text())
PAGE = Path(__file__).parents[2] / "docs" / "graph.md"
RESPONSES_PER_BATCH = 1

COUNTS = """
with standing as (
    select c.cursor, m.id, m.bucket_ids, m.scores, m.variable_type, m.role, m.paper_key
    from (select unnest($cursors::bigint[]) as cursor) as c
    join streams.memberships as m on m.seq <= c.cursor
    where m.state = 'assigned' and not exists (
        select 1 from streams.memberships as later
        where later.prev_seq = m.seq and later.seq <= c.cursor
    )
),
met as (select id, min(seq) as first_seq from streams.memberships group by id),
member as (
    select s.cursor, unnest(s.bucket_ids) as bucket_id, unnest(s.scores) as score, first_seq,
        s.variable_type, s.role, s.paper_key, n.node_id
    from standing as s
    join met using (id)
    join (select distinct id, node_id from streams.memberships) as n using (id)
),
counted as (
    select cursor, bucket_id, count(*) as nodes, count(distinct paper_key) as papers,
        count(*) filter (variable_type = 'claim') as claims,
        count(*) filter (variable_type = 'question') as questions,
        count(*) filter (role = 'premise') as premises,
        count(*) filter (role = 'conclusion') as conclusions,
        list(node_id order by score desc, first_seq)[:8] as exemplars
    from member group by all
)
select cursor, bucket_id, nodes, papers, claims, questions, premises, conclusions, exemplars,
    case
        when nodes < 3 then 'thin'
        when nodes >= 8 and papers >= 3 then 'covered'
        else 'partial'
    end as coverage_status
from counted
order by all
"""


@pytest.fixture(scope="module")
def given(shared):
    """The responses in the order of the log, then those that it does not name, with their queries."""
    folder = shared / "data/gaia"
    by_file = {one.file: one for one in payloads.in_file(folder / "twodheg__lkm_payloads.ndjson")}
    lines = (folder / "twodheg__retrieval_log.jsonl").read_text().splitlines()
    logged = [
        by_file.pop(FOLDER + event["raw_output"])._replace(query=event["request"].get("text"))
        for event in map(json.loads, lines)
    ]
    return logged + [by_file[name] for name in sorted(by_file)]


def open_buckets(session):
    for name, terms in BY_HAND["buckets"].items():
        session.open_bucket(name, terms=terms, bucket_id=name)


@pytest.fixture(scope="module")
def replayed(given, tmp_path_factory):
    """The store, the session's cursors after each batch, and its records by stream."""
    store = varvite.open(tmp_path_factory.mktemp("real"))
    with store.graph("s", create=True, level="fast") as session:
        open_buckets(session)
        cursors = [
            session.submit(given[start : start + RESPONSES_PER_BATCH]).cursor
            for start in range(0, len(given), RESPONSES_PER_BATCH)
        ]
    lines = (Path(store.path) / "s/events.ndjson").read_text().splitlines()
    records = {}
    for line in lines:
        one = json.loads(line)
        if "seq" in one:
            records.setdefault(one["stream"], []).append(one)
    return store, cursors, records


def shown(bucket, cursor):
    """A bucket's record as the row that SQL makes of the memberships."""
    roles = bucket["by_role"]
    return (
        cursor,
        bucket["id"],
        *(bucket[name] for name in ("nodes", "papers", "claims", "questions")),
        roles.get("premise", 0),
        roles.get("conclusion", 0),
        [one["node_id"] for one in bucket["exemplars"]],
        bucket["coverage_status"],
    )


def test_counts_exemplars_and_coverage_are_what_sql_finds_at_every_cursor(replayed):
    store, cursors, records = replayed
    expected = []
    for cursor in cursors:
        standing = {one["id"]: one for one in records["buckets"] if one["seq"] <= cursor}
        expected += [shown(one, cursor) for one in standing.values() if one["nodes"]]

    with store.connect() as connection:
        found = connection.execute(COUNTS, {"cursors": cursors}).fetchall()

    assert len(cursors) == 249
    assert len(found) > 1_500
    assert found == sorted(expected)


def test_every_variable_has_a_place_and_its_buckets_are_bounded(replayed):
    store, _, records = replayed
    places = store.sql("select state, count(distinct node_id) from memberships group by all").rows()
    variables = {one["id"] for one in records["nodes"] if one["node_kind"] == "variable"}

    assert {one["node_id"] for one in records["memberships"]} == variables
    assert dict(places) == {"assigned": 379, "ambiguous": 168, "new_bucket_candidate": 54}
    assert max(len(one["bucket_ids"]) for one in records["memberships"]) == 2


def agreement(records, part):
    """How a reader's choice and the assigner's compare, in hits.

    first: the best bucket is one of the reader's. any: one of its buckets is.
    """
    members = {one["node_id"]: one for one in records["memberships"]}
    counts = Counter()
    for node_id, chosen in BY_HAND[part].items():
        member = members[node_id]
        assigned = member["state"] == "assigned"
        counts["in" if chosen else "beside"] += 1
        if not chosen:
            counts["left out"] += not assigned
        elif assigned:
            counts["assigned"] += 1
            counts["first"] += member["bucket_ids"][0] in chosen
            counts["any"] += bool(set(chosen) & set(member["bucket_ids"]))
    return dict(counts)


ROWS = {
    "in": "belong to a bucket",
    "assigned": "… assigned",
    "first": "… … nearest bucket is one of the reader's",
    "any": "… … one of its buckets is",
    "beside": "belong to none",
    "left out": "… not assigned",
}


def documented(label, column):
    """The number at the head of a cell of the page's tables."""
    row = re.search(rf"^\| {re.escape(label)} \|(.+)\|$", PAGE.read_text(), re.MULTILINE)
    return int(row[1].split("|")[column].split()[0])


@pytest.mark.parametrize(("column", "part"), [(0, "tuned_on"), (1, "held_out")])
def test_the_assigner_agrees_with_a_reader_as_the_documentation_says(replayed, column, part):
    _, _, records = replayed

    assert agreement(records, part) == {
        name: documented(label, column) for name, label in ROWS.items()
    }


def test_the_shares_are_as_the_documentation_says(replayed):
    store, _, _ = replayed

    places = store.sql("select state, count(distinct node_id) from memberships group by all").rows()

    found = {state: f"{count} ({count / 601:.0%})".replace("%", " %") for state, count in places}
    row = " | ".join(found[one] for one in ("assigned", "ambiguous", "new_bucket_candidate"))
    assert f"\n| {row} |\n" in PAGE.read_text()


def test_how_the_responses_are_cut_into_batches_changes_no_bucket(graphs, given, replayed):
    _, _, records = replayed
    with graphs.new() as session:
        open_buckets(session)
        session.submit(given)

    dropped = ("seq", "prev_seq", "rev", "at")
    for stream in ("memberships", "buckets"):
        cut = {one["id"]: one for one in records[stream]}
        whole = graphs.latest(stream)
        assert cut.keys() == whole.keys()
        for key, one in whole.items():
            assert {name: cut[key][name] for name in one if name not in dropped} == {
                name: one[name] for name in one if name not in dropped
            }
