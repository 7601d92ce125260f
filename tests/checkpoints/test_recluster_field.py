"""Communities against buckets: what is proposed, what is handed in, and what a session is then."""

import random
import re
import shutil
from collections import Counter, defaultdict

import pytest

import varvite
from varvite.checkpoints.recluster import deciding, terms
from varvite.checkpoints.recluster.deciding import Limits, Merge, Part, Standing
from varvite.checkpoints.recluster.job import JOB
from varvite.graph import payloads
from varvite.graph.session import GRAPH
from varvite.session.index import Index
from varvite.session.rebuild import rebuild
from varvite.testing import killing, mixed
from varvite.testing.faulty import ReadSpy

TOPICS = (
    "granite quartz feldspar",
    "finch beak island",
    "comet orbit tail",
    "sonata violin tempo",
    "yeast dough oven",
    "glacier moraine ice",
)
PARAMETERS = {"assign_at": 1.0, "ambiguous_at": 0.05, "exemplars": 4}
BUCKETS = {"first": [], "second": [], "both": [], "zzz": [], "dough": ["yeast"]}


def bucket_of(topic, number):
    """Topic 0 is halved, 1 and 2 are in one bucket, 3 has a label that says nothing, 4 a good one."""
    if topic == 0:
        return "first" if number % 5 < 3 else "second"
    return {1: "both", 2: "both", 3: "zzz", 4: "dough"}.get(topic)


def hit(topic, number, **fields):
    rng = random.Random(topic * 1_000 + number)
    text = " ".join(rng.sample(TOPICS[topic].split(), 2)) + f" sample{number % 7}"
    made = {
        "id": f"t{topic}n{number}",
        "content": text,
        "variable_type": rng.choice(["claim", "question"]),
        "role": rng.choice(["premise", "conclusion"]),
        "paper": {"id": f"p{topic}-{number // 4}"},
    }
    return made | fields


def fill(store, each, name="s"):
    """A session with so many nodes of each topic, of which some wait for a place."""
    with store.graph(name, create=True, parameters=PARAMETERS, level="fast") as session:
        for bucket_id, words in BUCKETS.items():
            session.open_bucket(bucket_id, terms=words, bucket_id=bucket_id)
        for topic in range(len(TOPICS)):
            for start in range(0, each, 6):
                numbers = [n % each for n in range(start, start + 8)]
                named = [
                    hit(topic, n, bucket_ids=[bucket]) if (bucket := bucket_of(topic, n)) and n % 9
                    else hit(topic, n)
                    for n in numbers
                ]  # fmt: skip
                session.submit([payloads.from_hits(named, file=f"{topic}-{start}")])


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    made = varvite.open(tmp_path_factory.mktemp("filled") / "store")
    fill(made, 36)
    made.compact()
    return made


@pytest.fixture
def field(filled, tmp_path):
    return varvite.open(shutil.copytree(filled.path, tmp_path / "field"))


def run(store, *, apply=False, **parameters):
    (ran,) = store.checkpoint("recluster", "s", parameters=parameters or COMPONENTS, apply=apply)
    return ran


COMPONENTS = {"method": "components"}
METHODS = [
    COMPONENTS,
    pytest.param({"method": "leiden", "resolution": 0.1}, marks=pytest.mark.extras),
]


def proposed(ran):
    return {
        (row["kind"], *sorted(row["bucket_ids"])): row
        for row in ran.answers.table("proposals").to_pylist()
    }


def topics_of(store):
    """The topic of every node, by its id."""
    found = store.sql("select id, source_key from nodes where node_kind = 'variable'").rows()
    return {node: int(re.search(r":t(\d)n", key)[1]) for node, key in found}


def members(store):
    """Where the assigned nodes stand: bucket to node to score."""
    found = defaultdict(dict)
    asked = "select bucket_id, node_id, score from memberships where state = 'assigned'"
    for bucket_id, node_id, score in store.sql(asked).rows():
        found[bucket_id][node_id] = score
    return found


@pytest.mark.parametrize("parameters", METHODS)
def test_what_was_planted_is_proposed_and_nothing_else(field, parameters):
    ran = run(field, **parameters)

    found = proposed(ran)
    topics, standing = topics_of(field), members(field)
    kinds = Counter(key[0] for key in found)
    assert kinds == {"merge": 1, "split": 1, "rename": kinds["rename"]}
    merge = found["merge", "first", "second"]
    assert (merge["bucket_ids"], merge["nodes"]) == (["first", "second"], len(standing["second"]))
    (split,) = [row for row in found.values() if row["kind"] == "split"]
    assert split["bucket_ids"][0] == "both"
    assert split["nodes"] == sum(topics[node] == split_topic(split) for node in standing["both"])
    assert set(found["rename", "zzz"]["label"].split(", ")) == {"sonata", "violin", "tempo"}
    assert not any("dough" in key for key in found)


def split_topic(split):
    (topic,) = [n for n in (1, 2) if set(split["label"].split(", ")) <= set(TOPICS[n].split())]
    return topic


@pytest.mark.parametrize("parameters", METHODS)
def test_every_node_that_waits_has_a_place_where_its_community_is(field, parameters):
    ran = run(field, **parameters)

    (split,) = [row for row in proposed(ran).values() if row["kind"] == "split"]
    other = split_topic(split)
    topics = topics_of(field)
    home = {0: "first", 3: "zzz", 4: "dough", 5: None, other: split["bucket_ids"][1]}
    home[3 - other] = "both"
    waiting = {
        node
        for (node,) in field.sql(
            "select node_id from memberships where state in ('ambiguous', 'new_bucket_candidate')"
        ).rows()
    }
    placed = {row["node_id"]: row for row in ran.answers.table("placements").to_pylist()}
    assert placed.keys() == waiting
    for node, row in placed.items():
        near = row["method"] == "nearest"
        assert near or row["bucket_id"] == home[topics[node]]
        assert near <= (topics[node] == 5)
    ambiguous = {node for node, row in placed.items() if row["state"] == "ambiguous"}
    assert ambiguous
    assert all(placed[node]["bucket_id"] for node in ambiguous)


def test_what_is_nearest_to_a_bucket_that_merges_goes_where_that_goes(field):
    alone = {"stream": "nodes", "id": "alone", "node_kind": "variable", "content": "alone"}
    waits = {"stream": "memberships", "id": "m", "node_id": "alone", "state": "ambiguous"}
    near = {"bucket_ids": ["second"], "scores": [0.06], "methods": ["lexical"]}
    mixed.append(field, "s", [alone, waits | near])

    ran = run(field)

    placed = {row["node_id"]: row for row in ran.answers.table("placements").to_pylist()}
    assert (placed["alone"]["method"], placed["alone"]["bucket_id"]) == ("nearest", "first")


def add_up(store):
    """Every bucket is what SQL finds over memberships."""
    found = store.sql("""
        select m.bucket_id, count(*) as nodes, count(distinct m.paper_key) as papers,
            count(*) filter (m.variable_type = 'claim') as claims,
            count(*) filter (m.variable_type = 'question') as questions,
            count(*) filter (m.role = 'premise') as premises,
            list_sort(list(m.score), 'desc')[:4] as scores
        from memberships as m where m.state = 'assigned' group by m.bucket_id
    """).dicts()
    of = {row.pop("bucket_id"): row for row in found}
    empty = {"nodes": 0, "papers": 0, "claims": 0, "questions": 0, "premises": 0, "scores": []}
    standing = members(store)
    with store.graph("s") as session:
        face = session.field_map()
    for bucket in face["buckets"]:
        row = of.get(bucket["id"], empty)
        exemplars = {one["node_id"]: one["score"] for one in bucket["exemplars"]}
        shown = {name: bucket[name] for name in ("nodes", "papers", "claims", "questions")}
        shown |= {"premises": bucket["by_role"].get("premise", 0)}
        assert shown | {"scores": list(exemplars.values())} == row
        assert exemplars.items() <= standing[bucket["id"]].items()
        covered = row["nodes"] >= 8 and row["papers"] >= 3
        status = "covered" if covered else "missing" if not row["nodes"] else "partial"
        ended = "merged_into" in bucket
        assert bucket["coverage_status"] == ("out_of_scope" if ended else status)
    return face


@pytest.mark.parametrize("parameters", METHODS)
def test_handed_in_the_map_is_as_proposed_adds_up_and_is_rebuilt_from_the_journal(
    field, parameters
):
    topics = topics_of(field)
    before = add_up(field)

    ran = run(field, apply=True, **parameters)

    assert ran.applied == {"committed": sum(ran.receipt.proposes.values())}
    face = add_up(field)
    inside = {name: {topics[n] for n in nodes} for name, nodes in members(field).items() if nodes}
    assert inside["first"] == {0}
    assert {frozenset(each) for name, each in inside.items()} >= {frozenset({n}) for n in range(5)}
    assert "second" not in inside
    shown = {one["id"]: one for one in face["buckets"]}
    assert shown["second"]["merged_into"] == "first"
    assert (shown["zzz"].get("opened_as"), len(shown)) == ("zzz", len(before["buckets"]) + 1)
    assert face["ambiguous"] == []
    with field._folder() as folder:
        rebuild(folder, "s", GRAPH)
    assert add_up(field) == face


def test_handed_in_again_nothing_is_done_twice_and_a_new_run_finds_nothing_to_do(field):
    at = field.session("s")["cursor"]
    run(field, apply=True)
    cursor = field.session("s")["cursor"]

    (again,) = field.checkpoint("recluster", "s", parameters=COMPONENTS, as_of=at, apply=True)

    assert again.state == "replayed"
    assert field.session("s")["cursor"] == cursor
    later = run(field)
    kinds = {key[0] for key in proposed(later)}
    assert kinds <= {"rename"}
    assert set(later.receipt.results["placed_by"]) <= {"none"}


def test_what_came_into_a_merged_bucket_meanwhile_is_moved_by_the_next_run(field):
    at = run(field)
    with field.graph("s") as session:
        late = [hit(0, 500 + n, bucket_ids=["second"]) for n in range(3)]
        session.submit([payloads.from_hits([*late, hit(0, 3), hit(0, 4)], file="late")])
    field.checkpoint("recluster", "s", parameters=COMPONENTS, as_of=at.receipt.cursor, apply=True)
    assert len(members(field)["second"]) == 3

    run(field, apply=True)

    assert not members(field)["second"]
    add_up(field)


def test_a_session_that_is_being_written_takes_it_in_with_its_next_batch(field):
    with field.graph("s") as session:
        ran = run(field, apply=True)
        assert set(ran.applied) == {"waiting"}
        session.submit([payloads.from_hits([hit(0, 700)], file="next")])

    assert not members(field)["second"]
    add_up(field)


def test_a_step_after_it_reads_no_history_and_asks_no_more_beside_more_of_it(tmp_path, monkeypatch):
    asked, seen = Counter(), []
    get, get_many = Index.get, Index.get_many
    monkeypatch.setattr(Index, "get", lambda self, *key: asked.update(keys=1) or get(self, *key))
    monkeypatch.setattr(
        Index, "get_many", lambda self, keys: asked.update(keys=len(keys)) or get_many(self, keys)
    )
    for each in (36, 108):
        store = varvite.open(tmp_path / str(each))
        fill(store, each)
        store.compact()
        run(store, apply=True)
        again = [hit(topic, 900 + n) for topic in range(4) for n in range(3)]
        named = [hit(0, 950 + n, bucket_ids=["second"]) for n in range(3)]
        spy = ReadSpy(store.path)
        watched = varvite.open(store.path)
        watched.files = spy
        with watched.graph("s") as session:
            asked.clear()
            session.submit([payloads.from_hits(again + named, file="after")])
            seen.append(asked["keys"])
        history = [
            path
            for path in spy.bytes_by_path
            if path.startswith(("s/journal/", "_lake/", "s/checkpoints/"))
            or path.endswith(".jsonl")
        ]
        assert history == []
        assert spy.bytes_by_path
        add_up(store)
    assert seen[1] <= seen[0]


def facts(ran):
    tables = {name: ran.answers.table(name).to_pylist() for name in ran.receipt.tables}
    return tables, ran.receipt.results, ran.receipt.proposes


@pytest.mark.slow
def test_killed_anywhere_it_comes_to_the_same_beside_a_writer(field, tmp_path):
    killed = list(killing.everywhere(field, "recluster", "s", str(tmp_path)))
    (ran,) = field.checkpoint("recluster", "s")
    whole = facts(ran)

    for store, stage, moment in killed:
        if stage != "link":
            with store.graph("s") as session:
                session.submit([payloads.from_hits([hit(5, 800)], file="beside")])
            store.compact()
        (ran,) = store.checkpoint("recluster", "s")

        assert ran.state == ("ran" if stage == "link" else "resumed"), (stage, moment)
        assert facts(ran) == whole, (stage, moment)
    assert len(killed) == 3 * len(JOB.stages)


def test_a_tie_is_broken_by_the_id_and_a_giant_says_nothing():
    parts = [Part("b", 0, 10, 10, True), Part("a", 0, 10, 10, False), Part("c", 1, 9, 10, True)]
    buckets = {name: Standing(name, name, None, 10, None) for name in "abc"}
    limits = Limits(5, 0.6, 0.25, 50)

    assert deciding.merges(parts, buckets, {0: 30, 1: 9}, limits) == [Merge(parts[0], "a")]
    assert deciding.merges(parts, buckets, {0: 50, 1: 9}, limits) == []


def test_a_bucket_that_is_no_part_of_the_field_neither_merges_nor_splits():
    parts = [Part("a", 0, 10, 20, True), Part("a", 1, 10, 20, True), Part("b", 0, 9, 9, False)]
    for role, count in ((None, 1), ("out_of_scope", 0)):
        buckets = {"a": Standing("a", "a", role, 20, None), "b": Standing("b", "b", role, 9, None)}

        assert len(deciding.splits(parts, buckets, [], Limits(5, 0.6, 0.25, 50))) == count
    ended = {"a": Standing("a", "a", None, 20, "c"), "b": Standing("b", "b", None, 9, None)}
    ended["c"] = Standing("c", "c", None, 0, "b")
    merged = deciding.merges([parts[0]], ended, {0: 9}, Limits(5, 0.6, 0.25, 50))
    assert merged == [Merge(parts[0], "b", left=True)]


def test_a_community_that_another_bucket_has_more_of_is_no_part_to_split_off():
    parts = [Part("a", 0, 10, 20, True), Part("a", 1, 10, 20, False), Part("b", 1, 11, 11, True)]
    buckets = {name: Standing(name, name, None, 20, None) for name in "ab"}

    assert deciding.splits(parts, buckets, [], Limits(5, 0.6, 0.25, 50)) == []


def test_terms_tell_a_part_from_the_others_and_no_word_stands_in_two():
    parts = [terms.Texts(), terms.Texts()]
    for number in range(6):
        parts[0].add(f"the finite size errors {number}")
        parts[1].add(f"a trial wave function {number}")

    first, second = terms.distinguishing(parts)

    words = [word for one in first for word in one.text.split()]
    assert sorted(words) == sorted(set(words))
    assert {"finite", "size", "error"} == set(words)
    assert {"trial", "wave", "function"} >= {w for one in second for w in one.text.split()}
    assert terms.telling("Sizes and shapes", parts[0]) == 1.0
    assert terms.telling("Sizes and shapes", parts[1]) == 0.0
    assert terms.telling("", terms.Texts()) == 0.0
