"""Communities of a session: as they were planted, the same for a seed, in every form of them."""

import json
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

import varvite
from varvite.checkpoints.recluster import components, grouping
from varvite.checkpoints.recluster.job import JOB
from varvite.errors import InputError
from varvite.graph import payloads
from varvite.samples import communities as samples
from varvite.testing import mixed

MIXING = 0.3
COMMUNITIES = 60


def adjusted_rand(one, other):
    """The adjusted Rand index of two partitions, over what both have: 1 equal, 0 as by chance."""
    keys = one.keys() & other.keys()

    def pairs(counted):
        return sum(n * (n - 1) // 2 for n in counted.values())

    both = pairs(Counter((one[key], other[key]) for key in keys))
    first, second = (pairs(Counter(each[key] for key in keys)) for each in (one, other))
    expected = first * second / (len(keys) * (len(keys) - 1) // 2)
    return (both - expected) / ((first + second) / 2 - expected)


def found(ran):
    table = ran.answers.table("communities")
    return dict(zip(table["node_id"].to_pylist(), table["community"].to_pylist(), strict=True))


def lay(store, name, planted):
    store.graph(name, create=True).close()
    for start in range(0, len(records := list(planted.records())), 5_000):
        mixed.append(store, name, records[start : start + 5_000])


@pytest.fixture(scope="module")
def planted():
    return samples.planted(3, COMMUNITIES, mixing=MIXING)


@pytest.fixture(scope="module")
def field(planted, tmp_path_factory):
    """A session with planted communities, partly compacted."""
    made = varvite.open(tmp_path_factory.mktemp("field"))
    lay(made, "s", planted)
    made.compact()
    return made


def run(store, **parameters):
    (ran,) = store.checkpoint("recluster", "s", parameters=parameters)
    return ran


def plan_of(planted):
    return {samples.node_id(number): own for number, own in enumerate(planted.communities)}


def test_the_plan_is_of_many_communities_with_power_laws_and_much_mixing(planted):
    sizes = Counter(planted.communities).values()
    degrees = Counter(end for link in planted.links for end in link).values()

    assert len(sizes) == COMMUNITIES
    assert max(sizes) > 3 * sorted(sizes)[len(sizes) // 2]
    assert max(degrees) > 3 * sorted(degrees)[len(degrees) // 2]
    assert planted.mixing() >= MIXING
    assert samples.planted(3, COMMUNITIES, mixing=MIXING) == planted
    assert samples.planted(4, COMMUNITIES, mixing=MIXING) != planted


def test_the_index_is_one_for_equal_partitions_and_near_zero_for_shuffled_ones():
    one = {n: n % 7 for n in range(700)}

    assert adjusted_rand(one, {n: f"{(n + 3) % 7}" for n in one}) == 1
    assert abs(adjusted_rand(one, {n: (n * 7919 % 700) // 100 for n in one})) < 0.02
    assert adjusted_rand({0: 0, 1: 0, 2: 1, 3: 1}, {0: 0, 1: 1, 2: 0, 3: 1}) == pytest.approx(-0.5)


@pytest.mark.extras
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_communities_are_found(field, planted, seed):
    ran = run(field, method="leiden", seed=seed)

    assert ran.receipt.results["method"] == "leiden"
    assert adjusted_rand(found(ran), plan_of(planted)) >= 0.9


@pytest.mark.extras
@pytest.mark.parametrize("mixing", [0.4, 0.5])
def test_planted_communities_are_found_through_more_mixing(tmp_path, mixing):
    plan = samples.planted(5, 50, mixing=mixing)
    store = varvite.open(tmp_path)
    lay(store, "s", plan)

    assert plan.mixing() >= mixing - 0.02
    ran = run(store, method="leiden")
    assert adjusted_rand(found(ran), plan_of(plan)) >= 0.9


@pytest.mark.extras
def test_the_same_seed_gives_the_same_communities_whatever_lies_compacted(planted, tmp_path):
    stores = [varvite.open(tmp_path / name) for name in ("one", "other")]
    for store in stores:
        lay(store, "s", planted)
    stores[1].compact()

    first, again = (found(run(store, method="leiden", seed=7)) for store in stores)

    assert first == again


@pytest.mark.extras
def test_more_resolution_gives_more_communities(field):
    few, many = (
        run(field, method="leiden", resolution=resolution).receipt.results["communities"]
        for resolution in (0.2, 5.0)
    )

    assert few < many


def test_leiden_without_the_extra_is_refused_and_auto_says_what_it_did_instead(field, monkeypatch):
    monkeypatch.setattr(grouping.leiden, "there", lambda: False)

    with pytest.raises(InputError, match="Leiden is not installed"):
        run(field, method="leiden", seed=99)
    ran = run(field, seed=98)

    assert ran.receipt.results["method"] == "components"


def test_nothing_imports_the_extra_but_the_run_that_needs_it():
    import subprocess
    import sys

    code = (
        "import sys, varvite; from varvite.checkpoints import jobs; jobs();"
        "assert 'graspologic_native' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def walked(count, links):
    """Components by walking: the least number in each, by number."""
    neighbours = defaultdict(list)
    for one, two in links:
        neighbours[one].append(two)
        neighbours[two].append(one)
    least = {}
    for start in range(count):
        if start in least:
            continue
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node not in least:
                least[node] = start
                waiting += neighbours[node]
    return [least[node] for node in range(count)]


def in_arrays(count, links):
    columns = np.array(links, np.int64).reshape(-1, 2).T
    return components.in_arrays(count, *columns).tolist()


def test_components_in_arrays_are_those_of_every_graph_of_five_nodes():
    possible = list(combinations(range(5), 2))
    for chosen in range(1 << len(possible)):
        links = [pair for place, pair in enumerate(possible) if chosen >> place & 1]

        assert in_arrays(5, links) == walked(5, links)


SHAPES = {
    "nothing": (0, []),
    "no links": (3, []),
    "a path": (200, [(n, n + 1) for n in range(199)]),
    "a path numbered at random": (
        211,
        [
            (min(pair), max(pair))
            for n in range(210)
            for pair in [(n * 92 % 211, (n + 1) * 92 % 211)]
        ],
    ),
    "a star around the last": (100, [(n, 99) for n in range(99)]),
    "many": (300, [(n, n + 7) for n in range(0, 290, 3)] + [(n, 299 - n) for n in range(0, 60, 5)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_components_in_sql_in_arrays_and_by_walking_are_the_same(shape, store):
    count, links = SHAPES[shape]
    settled = []

    def put(run):
        numbers = pa.array(range(count), pa.int64())
        ends = [pa.array([link[end] for link in links], pa.int64()) for end in (0, 1)]
        run.put(
            "cluster_nodes",
            pa.table({"node": numbers, "id": pa.array(map(str, range(count)), pa.string())}),
        )
        run.put("cluster_links", pa.table({"node": ends[0], "other": ends[1], "weight": ends[0]}))
        settled.append(components.in_sql(run))
        run.make("found", "cluster_components")

    from varvite.checkpoints.job import Job, Stage
    from varvite.testing.toy_job import toy

    ran = toy(store, "s", job=Job("shapes", "", (Stage("put", put, ("found",)),), "graph"))

    expected = walked(count, links)
    assert ran.answers.table("found")["community"].to_pylist() == expected
    assert in_arrays(count, links) == expected
    assert settled[0] <= 12


def test_the_job_finds_the_same_components_in_sql_and_in_arrays(field):
    sql, arrays = (run(field, method="components", components=how) for how in ("sql", "arrays"))

    assert found(sql) == found(arrays)
    assert sql.receipt.results["rounds"] > 1
    assert "cc_step" in sql.receipt.sql


def links_of(ran):
    names = [row["id"] for row in ran.answers.table("cluster_nodes").to_pylist()]
    return {
        (names[row["node"]], names[row["other"]]): row["weight"]
        for row in ran.answers.table("cluster_links").to_pylist()
    }


def session_of_hubs(store):
    """Variables a to z: found together, in papers, in a chain; some in large hubs."""
    hits = [
        {"id": name, "content": f"claim {name}", "variable_type": "claim", "paper": {"id": paper}}
        for name, paper in zip("abcdefgh", "11122345", strict=True)
    ]
    many = [{"id": f"m{n}", "content": f"many {n}", "variable_type": "claim"} for n in range(40)]
    factor = {
        "id": "f1",
        "premises": [{"id": "a", "content": "claim a"}, {"id": "z", "content": "claim z"}],
        "conclusion": {"id": "h", "content": "claim h"},
    }
    chain = {
        "code": 0,
        "data": {"evidence_chains": [{"source_package": "paper:9", "factors": [factor]}]},
    }
    with store.graph("s", create=True) as session:
        session.submit(
            [payloads.from_hits(hits[:5], file="1"), payloads.from_hits(hits[4:], file="2")]
        )
        session.submit([payloads.from_hits(many, file="3")])
        session.submit([payloads.Payload(json.dumps(chain), "4")])


def expected_links(store, most):
    """What ties variables, by walking over the records."""
    number = {
        node: place
        for place, (node,) in enumerate(
            store.sql("select id from nodes where node_kind = 'variable' order by id").rows()
        )
    }
    hubs = defaultdict(set)
    for hub, node in store.sql("select response_id, node_id from sightings").rows():
        hubs["r", hub].add(node)
    for kind, src, dst in store.sql("select edge_kind, src, dst from edges").rows():
        hub, node = (src, dst) if kind == "concludes" else (dst, src)
        hubs["p" if kind == "in_paper" else "c", hub].add(node)
    total = Counter()
    for (kind, _), nodes in hubs.items():
        members = sorted((number[node], node) for node in nodes if node in number)
        weight = {"r": 1000, "p": 500, "c": 1000}[kind]
        near = {
            tuple(sorted((place, (place + step) % len(members))))
            for place in range(len(members))
            for step in range(1, most + 1)
        }
        for one, two in near:
            if one != two:
                ends = tuple(sorted((members[one], members[two])))
                total[ends[0][1], ends[1][1]] += weight // min(len(members) - 1, 2 * most)
    return dict(total)


@pytest.mark.parametrize("most", [1, 2, 8, 64])
def test_what_variables_have_in_common_ties_them_in_linear_many_links(tmp_path, most):
    store = varvite.open(tmp_path)
    session_of_hubs(store)

    ran = run(store, method="components", links=most)

    assert links_of(ran) == expected_links(store, most)
    thinned = [one["members"] for one in ran.receipt.results["thinned"]]
    assert thinned == [n for n in (40, 5, 4, 3, 3) if n > 2 * most + 1]


def test_a_relation_that_was_taken_back_ties_nothing(tmp_path, planted):
    store = varvite.open(tmp_path)
    lay(store, "s", planted)
    gone = [record for record in planted.records() if record["stream"] == "edges"]
    mixed.append(store, "s", [record | {"status": "retracted"} for record in gone[:4_000]])

    ran = run(store, method="components")

    assert ran.receipt.results["links"] == len(gone) - 4_000


def test_a_session_without_variables_has_no_communities(tmp_path):
    store = varvite.open(tmp_path)
    store.graph("s", create=True).close()

    assert found(run(store)) == {}


def test_parameters_out_of_bounds_are_refused(field):
    for given in ({"method": "louvain"}, {"seed": -1}, {"resolution": 0}, {"links": 0}):
        with pytest.raises(InputError):
            run(field, **given)
    assert JOB.kind == "graph"
