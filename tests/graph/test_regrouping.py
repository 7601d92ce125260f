"""Acts that bring nodes from bucket to bucket, merge and rename: what they leave is what SQL finds."""

import json
import random
from itertools import count

import pytest

from varvite.graph import payloads
from varvite.graph.bucket import Bucket
from varvite.graph.membership import BUCKET_MEMBERSHIP
from varvite.graph.session import GRAPH
from varvite.session import inbox
from varvite.session.inbox import Act
from varvite.session.rebuild import rebuild

TOPICS = {
    "size": ["finite size error", "twist averaging", "thermodynamic limit"],
    "nodes": ["trial wave function", "nodal surface", "backflow"],
    "width": ["quantum well", "finite width", "disorder"],
}
WORDS = [word for terms in TOPICS.values() for term in terms for word in term.split()]
PARAMETERS = {"assign_at": 0.25, "ambiguous_at": 0.1, "exemplars": 3, "covered_nodes": 4}
_keys = count()


def hits(numbers, name, **fields):
    rng = random.Random(name)
    made = [
        {
            "id": f"v{number}",
            "content": " ".join(rng.choices(WORDS, k=5)) + f" z{number}",
            "variable_type": rng.choice(["claim", "question"]),
            "role": rng.choice(["premise", "conclusion"]),
            "paper": {"id": str(rng.randrange(6))},
        }
        | fields
        for number in numbers
    ]
    return payloads.from_hits(made, file=name)


@pytest.fixture
def session(graphs):
    with graphs.new(**PARAMETERS) as made:
        for bucket_id, terms in TOPICS.items():
            made.open_bucket(bucket_id, terms=terms, bucket_id=bucket_id)
        made.submit([hits(range(60), "first")])
        yield made


def act(session, name, **payload):
    """Leave an act and let the writer take it in; the errors of those that were set aside."""
    folder = session._writer.folder
    before = len(inbox.refused(folder))
    inbox.leave(folder, Act(f"key{next(_keys)}", name, "test", payload))
    session._writer.take_in()
    return [one["error"]["message"] for one in inbox.refused(folder)[before:]]


def members(graphs, state="assigned"):
    return {
        one["node_id"]: one
        for one in graphs.latest("memberships").values()
        if one["state"] == state
    }


def of(graphs, bucket_id):
    """The nodes of a bucket, the likest first."""
    standing = members(graphs)
    own = {node: one for node, one in standing.items() if bucket_id in one["bucket_ids"]}
    score = {n: one["scores"][one["bucket_ids"].index(bucket_id)] for n, one in own.items()}
    return sorted(own, key=lambda node: (-score[node], own[node]["seq"]))


def holds(graphs, session):
    """Every bucket is what its memberships add up to, in the index and in one made anew."""
    latest, standing = graphs.latest("buckets"), members(graphs)
    for bucket_id, bucket in latest.items():
        own = [one for one in standing.values() if bucket_id in one["bucket_ids"]]
        scores = sorted(
            (one["scores"][one["bucket_ids"].index(bucket_id)] for one in own), reverse=True
        )
        assert bucket["nodes"] == len(own)
        assert bucket["papers"] == len({one.get("paper_key") for one in own} - {None})
        assert bucket["claims"] == sum(one.get("variable_type") == "claim" for one in own)
        assert bucket["questions"] == sum(one.get("variable_type") == "question" for one in own)
        roles = {name: many for name, many in bucket["by_role"].items() if many}
        assert roles == {
            name: many
            for name in ("premise", "conclusion")
            if (many := sum(one.get("role") == name for one in own))
        }
        assert [one["score"] for one in bucket["exemplars"]] == scores[:3]
        assert {one["node_id"] for one in bucket["exemplars"]} <= {one["node_id"] for one in own}
        enough = len(own) >= 4 and bucket["papers"] >= 3
        status = (
            "covered" if enough else "missing" if not own else "thin" if len(own) < 3 else "partial"
        )
        assert bucket["coverage_status"] == (
            "out_of_scope" if bucket.get("merged_into") else status
        )
    face = session.field_map()
    shown = {one["id"]: one for one in face["buckets"]}
    assert {name: shown[name]["nodes"] for name in shown} == {
        name: one["nodes"] for name, one in latest.items()
    }
    return face


def test_a_merge_brings_nodes_signature_and_focuses_and_ends_the_bucket(graphs, session):
    session.open_focus("How wide?", bucket_ids=["width"], focus_id="f")
    nodes, both = of(graphs, "width"), set(of(graphs, "width")) | set(of(graphs, "size"))

    assert act(session, "move_nodes", source="width", target="size", nodes=nodes) == []
    assert act(session, "merge_bucket", bucket_id="width", into="size") == []

    holds(graphs, session)
    assert set(of(graphs, "size")) == both
    width = graphs.latest("buckets")["width"]
    assert (width["nodes"], width["papers"], width["merged_into"]) == (0, 0, "size")
    assert (width["signature"]["features"], width["open_gaps"]) == ([], [])
    assert graphs.latest("focuses")["f"]["bucket_ids"] == ["width", "size"]


@pytest.mark.parametrize("moves_first", [True, False])
def test_what_comes_later_goes_to_the_bucket_that_another_was_merged_into(
    graphs, session, moves_first
):
    acts = [
        ("move_nodes", {"source": "width", "target": "size", "nodes": of(graphs, "width")}),
        ("merge_bucket", {"bucket_id": "width", "into": "size"}),
    ]
    for name, payload in acts if moves_first else acts[::-1]:
        act(session, name, **payload)
    act(session, "merge_bucket", bucket_id="size", into="nodes")

    named = {"id": "named", "content": "anything", "bucket_ids": ["width", "nodes"]}
    like = {"id": "like", "content": "quantum well of finite width with disorder"}
    session.submit([payloads.from_hits([named, like], file="later")])

    standing = {one["node_id"]: one["bucket_ids"] for one in members(graphs).values()}
    sources = {one.get("source_key"): one["id"] for one in graphs.latest("nodes").values()}
    assert standing[sources["lkm:bohrium:variable:named"]] == ["nodes"]
    assert standing[sources["lkm:bohrium:variable:like"]] == ["nodes"]
    assert set(of(graphs, "width")) == set()
    assert session.open_bucket("width", terms=TOPICS["width"], bucket_id="width") == "width"


def test_a_split_opens_a_bucket_and_the_likest_that_stay_are_exemplars(graphs, session):
    everyone = of(graphs, "size")
    going, staying = everyone[::2], everyone[1::2]
    words = {"label": "Twists", "terms": ["twist averaging"], "criteria": "by twists"}

    for part in (going[:3], going[3:]):
        payload = {"source": "size", "target": "twists", "nodes": part, "open": words}
        assert act(session, "move_nodes", **payload, exemplars=staying[:3]) == []

    holds(graphs, session)
    assert sorted(of(graphs, "twists")) == sorted(going)
    assert sorted(of(graphs, "size")) == sorted(staying)
    twists = graphs.latest("buckets")["twists"]
    assert (twists["label"], twists["unmet_terms"]) == ("Twists", [])
    like = {"id": "like", "content": "twist averaging"}
    session.submit([payloads.from_hits([like], file="later")])
    sources = {one.get("source_key"): one["id"] for one in graphs.latest("nodes").values()}
    assert "twists" in members(graphs)[sources["lkm:bohrium:variable:like"]]["bucket_ids"]


def test_a_node_that_waits_is_placed_once_and_one_that_was_placed_stays(graphs, session):
    waiting = [*members(graphs, "ambiguous"), *members(graphs, "new_bucket_candidate")]
    there = next(iter(of(graphs, "size")))
    before = members(graphs)[there]
    places = [[node, "nodes"] for node in [*waiting, there]]

    assert act(session, "place_nodes", places=places) == []

    face = holds(graphs, session)
    assert set(waiting) <= set(of(graphs, "nodes"))
    assert members(graphs)[there] == before
    assert face["ambiguous"] == face["new_bucket_candidates"] == []
    assert {one["methods"][0] for n, one in members(graphs).items() if n in waiting} == {"explicit"}


def test_a_renamed_bucket_keeps_its_id_and_is_known_by_its_first_label(graphs, session):
    for was, label in (("size", "Sizes"), ("Sizes", "Cells"), ("size", "never")):
        assert act(session, "rename_bucket", bucket_id="size", label=label, was=was) == []

    bucket = graphs.latest("buckets")["size"]
    assert (bucket["label"], bucket["opened_as"]) == ("Cells", "size")
    assert session.open_bucket("size", terms=TOPICS["size"], bucket_id="size") == "size"


def test_done_again_an_act_adds_nothing(graphs, session):
    nodes = of(graphs, "width")
    acts = [
        ("move_nodes", {"source": "width", "target": "size", "nodes": nodes}),
        ("merge_bucket", {"bucket_id": "width", "into": "size"}),
        ("rename_bucket", {"bucket_id": "size", "label": "Sizes", "was": "size"}),
        ("place_nodes", {"places": [[node, "nodes"] for node in members(graphs, "ambiguous")]}),
    ]
    for name, payload in acts:
        act(session, name, **payload)
    cursor = session.cursor

    for name, payload in acts:
        assert act(session, name, **payload) == []

    assert session.cursor == cursor


def test_any_acts_and_steps_leave_a_map_that_adds_up_and_is_rebuilt_the_same(graphs, session):
    rng = random.Random(5)
    names = list(TOPICS)
    for turn in range(14):
        source, target = rng.sample(names, 2)
        everyone = of(graphs, source)
        going = rng.sample(everyone, len(everyone) // 3)
        staying = [node for node in everyone if node not in going]
        match turn % 5:
            case 0 | 1:
                act(
                    session,
                    "move_nodes",
                    source=source,
                    target=target,
                    nodes=going,
                    exemplars=staying[:3],
                )
            case 2:
                waiting = [*members(graphs, "ambiguous"), *members(graphs, "new_bucket_candidate")]
                act(session, "place_nodes", places=[[node, target] for node in waiting[:4]])
            case 3:
                session.submit([hits(range(turn * 40, turn * 40 + 30), f"turn{turn}")])
                session.submit([hits(range(5), f"again{turn}", bucket_ids=[target])])
            case 4:
                act(session, "rename_bucket", bucket_id=source, label=f"turn {turn}", was="size")
        holds(graphs, session)
    act(session, "merge_bucket", bucket_id="width", into="nodes")
    face = holds(graphs, session)
    kept = {node: session.look(BUCKET_MEMBERSHIP, node) for node in members(graphs)}
    session.close()

    rebuild(graphs.store, "s", GRAPH)

    with graphs.open() as again:
        assert again.field_map() == face
        assert {node: again.look(BUCKET_MEMBERSHIP, node) for node in kept} == kept
        again.submit([hits(range(900, 930), "after")])
        holds(graphs, again)


@pytest.mark.parametrize(
    ("name", "payload", "said"),
    [
        ("place_nodes", {"places": [["nobody", "size"]]}, "'nobody' has no place"),
        ("place_nodes", {"places": [["nobody"]]}, "places: expected ids"),
        ("place_nodes", {"places": [["nobody", "none"]]}, "no bucket 'none'"),
        ("place_nodes", {}, "500 places at most"),
        ("place_nodes", {"places": [["a", "size"]] * 501}, "500 places at most"),
        ("move_nodes", {"source": "size", "target": "none", "nodes": []}, "no bucket 'none'"),
        ("move_nodes", {"source": "size", "target": "size", "nodes": []}, "another bucket"),
        ("move_nodes", {"source": "size", "target": "x", "nodes": [], "open": {}}, "label"),
        ("move_nodes", {"source": 1, "target": "x", "nodes": []}, "source: expected text"),
        ("move_nodes", {"source": "size", "target": "nodes", "nodes": [1]}, "nodes: expected"),
        ("merge_bucket", {"bucket_id": "size", "into": "size"}, "cannot end in itself"),
        ("merge_bucket", {"bucket_id": "none", "into": "size"}, "no bucket 'none'"),
        ("rename_bucket", {"bucket_id": "size", "label": "", "was": "size"}, "label"),
    ],
)
def test_what_cannot_be_is_set_aside_and_changes_nothing(session, name, payload, said):
    cursor = session.cursor

    (message,) = act(session, name, **payload)

    assert said in message
    assert session.cursor == cursor


def test_a_bucket_cannot_end_in_one_that_ended_in_it(session):
    act(session, "merge_bucket", bucket_id="width", into="size")

    (message,) = act(session, "merge_bucket", bucket_id="size", into="width")

    assert "cannot end in itself" in message
    assert json.dumps(session.field_map())
    assert Bucket.read(session.look, "size").merged_into is None


def test_a_paused_session_takes_an_act_when_it_is_resumed(session):
    session.pause()
    folder = session._writer.folder
    inbox.leave(
        folder,
        Act("late", "rename_bucket", "test", {"bucket_id": "size", "label": "Late", "was": "size"}),
    )
    with pytest.raises(Exception, match="paused"):
        session._writer.take_in()

    session.resume()

    session._writer.take_in()
    assert Bucket.read(session.look, "size").label == "Late"


def test_what_is_learned_of_a_node_left_in_a_merged_bucket_brings_the_bucket_back_nowhere(
    graphs, session
):
    text = "quantum well of finite width with disorder"
    factor = {
        "id": "f",
        "premises": [{"id": "x", "content": text}],
        "conclusion": {"id": "y", "content": "y"},
    }
    chains = [{"source_package": "paper:9", "factors": [factor]}]
    answer = json.dumps({"code": 0, "data": {"evidence_chains": chains}})
    session.submit([payloads.Payload(answer, "chain")])
    act(session, "merge_bucket", bucket_id="width", into="size")
    before = graphs.latest("buckets")["width"]

    hit = {"id": "x", "content": text, "variable_type": "question", "paper": {"id": "p2"}}
    session.submit([payloads.from_hits([hit], file="later")])

    width = graphs.latest("buckets")["width"]
    assert width["questions"] == before["questions"] + 1
    assert (width["signature"]["features"], width["coverage_status"]) == ([], "out_of_scope")
    holds(graphs, session)
